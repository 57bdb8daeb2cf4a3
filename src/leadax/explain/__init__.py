"""What a model has learnt, in words of mathematics: formulas, and the numbers of environments that matter."""

from .explain import Explanation as Explanation
from .explain import explain as explain
from .relations import Relations as Relations
from .relations import relations as relations
from .sparse import Law as Law
