"""The demonstration: the real nodes as processes, watched live, with a report in the end.

The processes (`fleet`), what they run (`case`), watching them (`monitor`, `display`) and the
`report` belong here; the subcommand itself is `apps.commands.demo`.
"""
