"""The tuning guide that measures: noise, delay and friction seen, then gains with their margins.

What a run tells of an arm (`measure`), trials on the simulated arm (`trials`), the choice of gains
(`choice`) and what is written of it (`summary`) belong here; the subcommand is
`apps.commands.tune`.
"""
