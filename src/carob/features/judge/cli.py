"""`carob judge`"""

from __future__ import annotations

import click


@click.command()
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the messages and exit.")
def command(schema: bool) -> int:
    """Judge for a test runner of another language: a message a line on stdin, a message a line on stdout.

    It reads suites, asks the client for answers, judges them and writes journals, until stdin ends. `carob help judge`
    describes the messages. In TypeScript, the npm package "carob" does the talking.

    \b
    Examples:
      carob judge
      carob judge --schema > judge.schema.json
    """
    if schema:
        from carob.features.judge.messages import schema_text

        click.echo(schema_text(), nl=False)
        return 0
    from carob.system.gc_pause import gc_frozen

    with gc_frozen():
        from carob.features.judge.serving import serve

    return serve()
