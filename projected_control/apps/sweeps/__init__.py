"""Many runs of one case on all cores or on a cluster, and how sure its bounds are.

A study file (`study`) says what varies; a design (`designs`, `searches`) which runs follow; a run
(`one_run`) is one row of numbers; `sweeping` has the rows made by processes (`local_pool`) or by a
cluster (`dask_pool`), and keeps them (`journal`) so that none is lost. `bounds` and `robustness`
say what the rows mean.
"""
