"""The strict test room: float64 unless asked otherwise, no silent promotion of types or ranks, quick compilation."""

import gc
import os
import signal

import jax

# Tests compile many small programs and run each for a moment. With these flags a program compiles in a quarter of the
# time; it computes the same to rounding. Doctests and subprocesses of the command line use the usual compiler.
_QUICK = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_QUICK}".strip()
jax.config.update("jax_disable_most_optimizations", True)

jax.config.update("jax_include_full_tracebacks_in_locations", False)  # in programs, which nobody reads

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# A shell lets its background jobs ignore SIGINT, and `nohup` SIGHUP. Some tests send them.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


def pytest_collection_finish():
    """Everything imported so far stays: the garbage collector need not look at it again and again.

    Tracing makes many objects that go by themselves: looking for cycles less often saves a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
