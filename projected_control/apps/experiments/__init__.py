"""The papers' cases: data, one runner, one style of figures, one report page.

To add a case, write a module here with

    def run(options: Options, progress: Progress) -> Outcome

that describes the case as data (`case.Case`, driven by a `case.ConstantEffort` or by the control
loop, `control.Control`), runs it (`case_run.simulate`) and returns numbers, tables and figures
(`outcome.Outcome`); then enter it in `catalogue.EXPERIMENTS`. The command line, the files, the
report page and ``reproduce all`` follow from that.
"""

from projected_control.apps.experiments.catalogue import (
    ALIASES,
    ALL,
    EXPERIMENTS,
    Options,
    names_of,
    run_experiment,
)

__all__ = ["ALIASES", "ALL", "EXPERIMENTS", "Options", "names_of", "run_experiment"]
