"""What must be true before a release goes out: ``python test/release_check.py v1.2.3``."""

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(root: Path, tag: str) -> Iterator[str]:
    """What is not as it should be, in words."""
    manifest = ET.parse(root / "package.xml").getroot()
    version = manifest.findtext("version")
    if tag != f"v{version}":
        yield f"the tag is {tag}, and package.xml says {version}: it should be v{version}"
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        yield f"CITATION.cff does not say version {version}"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.M):
        yield f"CHANGELOG.md has no line '## [{version}] - <date of today>'"
    addresses = [manifest.find("maintainer").get("email"), *(u.text for u in manifest.iter("url"))]
    if invented := [address for address in addresses if "example.com" in address]:
        yield f"package.xml has addresses that are invented: {', '.join(invented)}"


if __name__ == "__main__":
    found = list(problems(ROOT, sys.argv[1] if len(sys.argv) == 2 else ""))
    print("\n".join(found) or "ready")
    sys.exit(1 if found else 0)
