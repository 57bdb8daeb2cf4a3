"""What people look at: pictures, tables and pages of data and fitted models."""

from .data import data_figures as data_figures
from .data import data_page as data_page
from .figures import model_figures as model_figures
from .models import model_page as model_page
from .page import Bold as Bold
from .page import Page as Page
