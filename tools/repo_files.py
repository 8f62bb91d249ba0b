# SPDX-License-Identifier: Apache-2.0
"""Which files belong to the repository; shared by the checks."""

import os
import subprocess

CPP_SUFFIXES = (".h", ".cc")
SKIPPED_FOLDERS = {".git", "build", "__pycache__", "node_modules"}


def repo_files(root):
    """Paths relative to root, sorted: tracked ones and new ones that git does not ignore.

    Outside a git checkout (a release archive) it is every file but those in build folders.
    """
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        paths = [os.fsdecode(path) for path in listing.stdout.split(b"\0") if path]
    else:
        paths = _walk(root)
    # A tracked file may be deleted in the work tree; a link has no content of its own.
    return sorted(
        path
        for path in set(paths)
        if os.path.isfile(os.path.join(root, path)) and not os.path.islink(os.path.join(root, path))
    )


def _walk(root):
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return paths
