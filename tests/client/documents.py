#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Commands, options, settings and exit codes that the pages name are those of the programs.

  documents.py BIN
"""
import pathlib, re, shlex, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md",
         *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/design").glob("*.md")),
         *sorted((ROOT / "packaging/man").glob("*.md"))]
# Comments of a line, a container's name, a group's name.
BESIDE = re.compile(r"\s+#.*| {2,}\(.*|^docker run .* pelton (?=pelton )|-aG pelton.*")
# peltond --help leaves out an argument of the broker for its own worker, and itself.
INTERNAL = {"--worker-fd", "--version", "--help"}
PROGRAM = re.compile(r"(?:^|(?<=[\s`(]))(?:sudo )?(?:build/bin/)?(peltond?)((?: [^|;&`#>\n]+)+)")


class Programs:
    def __init__(self, bin):
        self.bin = bin
        self.known = {}

    def accepts(self, *words):
        if words not in self.known:
            run = subprocess.run([f"{self.bin}/{words[0]}", *words[1:]], text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True)
            self.known[words] = None if run.returncode == 0 else run.stderr.splitlines()[0]
        return self.known[words]

    def text(self, *words):
        return subprocess.run([f"{self.bin}/{words[0]}", *words[1:]], text=True, check=True,
                              stdin=subprocess.DEVNULL, capture_output=True).stdout


def commands(page):
    """(line, program, words) of each command in a block or in backticks."""
    code, prose = False, []
    for i, line in enumerate(page.read_text().split("\n"), 1):
        code ^= line.startswith("```")
        block = code or line.startswith(("```", "    "))
        prose.append("" if block else line)
        if block:
            yield from ((i, *m.groups()) for m in PROGRAM.finditer(BESIDE.sub("", line)))
    prose = "\n".join(prose)
    for span in re.finditer(r"`([^`]+)`", prose):
        line = prose.count("\n", 0, span.start()) + 1
        yield from ((line, *m.groups()) for m in PROGRAM.finditer(" ".join(span[1].split())))


def words_of(text):
    try:
        return shlex.split(text)
    except ValueError: # a quote that ends on another line
        return text.split()


def is_option(word):
    return re.fullmatch(r"--?[a-z][\w:-]*", word) is not None


def faults_of(programs, program, words):
    """What the program says against a command that a page shows."""
    if program == "pelton" and re.fullmatch(r"[a-z]+", words[0]):
        if error := programs.accepts("pelton", "help", words[0]):
            yield error
            return
        options = [w for w in words[1:] if is_option(w)]
        yield from filter(None, (programs.accepts("pelton", "help", words[0], o) for o in options))
    elif program == "peltond":
        told = programs.text("peltond", "--help")
        for w in filter(is_option, words):
            if w not in INTERNAL and not re.search(rf"(?<![\w-]){w}(?![\w-])", told):
                yield f"peltond: {w}: not in peltond --help"
    for key, value in (words[i + 1].split("=", 1) for i, w in enumerate(words[:-1])
                       if w == "-c" and "=" in words[i + 1]):
        example = not re.fullmatch(r"[\w.]+", value) or value.isupper()
        if not example and not key.startswith("sources"):
            error = programs.accepts("peltond", "--check", "-c", f"{key}={value}")
            yield from [error] if error else []


def settings_faults(programs):
    """The table of camera settings against peltond --list-keys."""
    text = (ROOT / "docs/cameras.md").read_text().split("## Settings")[1]
    told = set(re.findall(r"^\| `([\w.]+)` \|", text, re.M))
    keys = {line.split("\t")[0] for line in programs.text("peltond", "--list-keys").splitlines()}
    keys = {k.removeprefix("sources.NAME.") for k in keys if k.startswith("sources.NAME.")}
    keys -= {"uri", "user", "password", "password_file", "blur"}
    keys -= {"always_on", "close_after", "placeholder"} # docs/configuration.md
    keys -= {k for k in keys if k.startswith(("read.", "control.", "device."))}
    return [f"docs/cameras.md: {k}: in one of the table and peltond --list-keys"
            for k in sorted(told ^ keys)]


def code_faults(programs):
    """The table of exit codes against pelton help."""
    text = (ROOT / "docs/formats.md").read_text().split("## Exit codes")[1]
    told = {int(n) for row in re.findall(r"^\|(.*)\|$", text, re.M)
            for n in re.findall(r"\b\d+\b", row)}
    told |= {int(n) for n in re.findall(r"\b1[34]\d\b", text)} # of signals, in a sentence
    codes = {int(n) for n in re.findall(r"^  (\d+) ", programs.text("pelton", "help"), re.M)}
    return [f"docs/formats.md: exit code {n}: in one of the page and pelton help"
            for n in sorted(told ^ codes)]


def main():
    programs = Programs(sys.argv[1])
    faults, count = [], 0
    for page in PAGES:
        for line, program, text in commands(page):
            count += 1
            faults += [f"{page.relative_to(ROOT)}:{line}: {f}"
                       for f in faults_of(programs, program, words_of(text))]
    faults += settings_faults(programs) + code_faults(programs)
    print("\n".join(faults + [f"{count} commands in {len(PAGES)} pages, {len(faults)} faults"]))
    if count < 50:
        print("hardly any commands were found: did the pages change their form?")
    return bool(faults) or count < 50


sys.exit(main())
