"""A fuzzer: damaged files, forged models, odd tables, odd options, odd arguments. Nothing may be silent.

    python -m benchmarks.hostile [--cases 10000] [--seed 0] [--only data,runs] [--journal FILE] [--minutes M]

Every case ends in one of five ways, which are counted:

- noticed: refused with an error of Leadax of one line, or carried out with the right result and a warning;
- harmless: the result is the same as without the damage;
- traceback: any other exception, an error of several lines, a dead process;
- wrong: the result differs from that without the damage;
- hung: no answer within the time limit.
"""
