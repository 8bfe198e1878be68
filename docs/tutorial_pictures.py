"""Draw the picture of docs/tutorials/my-data.md: by the code of the page itself."""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent


def main():
    code = re.findall(
        r"^```py(?:thon)?\n(.*?)^```", (DOCS / "tutorials" / "my-data.md").read_text(), re.M | re.S
    )
    here, names = os.getcwd(), {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            for block in code:
                exec(block, names)
                if Path("heating.png").exists():
                    (DOCS / "figures" / "heating.png").write_bytes(Path("heating.png").read_bytes())
                    break
        finally:
            os.chdir(here)


if __name__ == "__main__":
    main()
