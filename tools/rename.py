"""Move, merge and rename modules by a table, and rewrite everything that names them.

    python tools/rename.py TABLE [--only PREFIX]

A line of the table is ``new < old, old``: dotted modules or packages. Several old ones are merged. ``#`` begins a comment.
Tests that mirror a module move with it. Deleted with the last commit of the migration.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

ROOTS = {"growth": "src/growth", "growth_lab": "lab/src/growth_lab", "tests": "tests", "bench": "bench", "lab.tests": "lab/tests"}
TEXTS = (".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".cfg", ".svg", ".json")
ROOMS = ("api", "observe", "decide", "act", "kube", "cloud", "run", "cli", "sim", "play", "local")


def git(*words):
    return subprocess.run(["git", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def path_of(module, *, package=False):
    for root in sorted(ROOTS, key=len, reverse=True):
        if module == root or module.startswith(root + "."):
            rest = module[len(root):].lstrip(".").replace(".", "/")
            base = Path(ROOTS[root]) / rest if rest else Path(ROOTS[root])
            return base if package else base.with_name(base.name + ".py")
    raise SystemExit(f"no root for {module}")


def is_package(module):
    return (path_of(module, package=True)).is_dir()


def module_of(path):
    for root, folder in sorted(ROOTS.items(), key=lambda x: len(x[1]), reverse=True):
        if path.startswith(folder + "/"):
            parts = path[len(folder) + 1:].removesuffix(".py").split("/")
            if parts[-1] == "__init__":
                parts.pop()
            return ".".join([root, *parts])
    return None


def read_table(name, only):
    wanted = {}
    for line in Path(name).read_text().splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        new, _, olds = line.partition("<")
        olds = [one.strip() for one in olds.split(",")]
        if only and not any(one.startswith(only) for one in olds) and not new.strip().startswith(only):
            continue
        wanted[new.strip()] = olds
    return wanted


def expanded(wanted, tracked):
    """Old module -> new module; the packages among them; merges by new module."""
    moves, packages, merges = {}, {}, {}
    explicit = {old for olds in wanted.values() for old in olds}
    for new, olds in wanted.items():
        for old in olds:
            if is_package(old):
                packages[old] = new
        if len(olds) > 1 and not any(is_package(old) for old in olds):
            merges[new] = olds
        elif len(olds) == 1 and not is_package(olds[0]) and path_of(new).exists() and new != olds[0]:
            if new not in explicit:
                merges[new] = [new, olds[0]]
    for new, olds in wanted.items():
        for old in olds:
            if not is_package(old):
                if not path_of(old).exists():
                    raise SystemExit(f"no module {old}")
                moves[old] = new
    for old in sorted(packages, key=len):
        new = packages[old]
        for path in tracked:
            module = module_of(path) if path.endswith(".py") else None
            if module and (module == old or module.startswith(old + ".")) and module not in moves:
                best = max((p for p in packages if module == p or module.startswith(p + ".")), key=len)
                if best == old:
                    moves[module] = new + module[len(old):]
    return {old: new for old, new in moves.items() if old != new}, packages, merges


def test_moves(moves, tracked):
    """Tests mirror the tree."""
    found, taken = {}, set()
    for path in tracked:
        if not (path.startswith("tests/") and path.endswith(".py")):
            continue
        module = module_of(path)
        parts = module.split(".")
        leaf = parts[-1]
        if leaf.startswith("test_"):
            source = ".".join(["growth", *parts[1:-1], leaf[5:]])
            new = moves.get(source)
            if new:
                np = new.split(".")
                top = "lab.tests" if np[0] == "growth_lab" else "tests"
                target = ".".join([top, *np[1:-1], "test_" + np[-1]])
                if target in taken or (path_of(target).exists() and target != module):
                    target = ".".join([top, *np[1:-1], leaf])
                taken.add(target)
                if target != module:
                    found[module] = target
                continue
        source = ".".join(["growth", *(parts[1:] if path.endswith("__init__.py") else parts[1:-1])])
        new = moves.get(source)
        if new and len(parts) > (1 if path.endswith("__init__.py") else 2):
            np = new.split(".")
            top = "lab.tests" if np[0] == "growth_lab" else "tests"
            found[module] = ".".join([top, *np[1:], *([] if path.endswith("__init__.py") else [leaf])])
    return {a: b for a, b in found.items() if a != b}


def names_in(source):
    return [t for t in tokenize.generate_tokens(io.StringIO(source).readline)]


def rewrite_module_imports(path, moves):
    """``from package import module`` of a module that moves; its uses are renamed too."""
    source = Path(path).read_text(encoding="utf-8")
    if "import" not in source:
        return
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    edits, renames, dropped = [], {}, set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        hit = [a for a in node.names if f"{node.module}.{a.name}" in moves]
        if not hit:
            continue
        groups = defaultdict(list)
        for a in node.names:
            full = f"{node.module}.{a.name}"
            if full in moves:
                pkg, _, leaf = moves[full].rpartition(".")
                if a.asname:
                    groups[pkg].append(f"{leaf} as {a.asname}")
                else:
                    if leaf != a.name:
                        renames[a.name] = leaf
                    groups[pkg].append(leaf)
            else:
                groups["=" + node.module].append(a.name + (f" as {a.asname}" if a.asname else ""))
        edits.append((node, groups))
    if not edits:
        return
    tokens = names_in(source)
    used = {t.string for t in tokens if t.type == tokenize.NAME}
    aliased = {old: new for old, new in renames.items() if new in used and new not in renames}
    for old in aliased:
        print(f"  alias kept in {path}: {renames[old]} as {old}")
        del renames[old]
    # names first (positions before the import lines change)
    skip = [(n.lineno, n.end_lineno) for n, _ in edits]
    out, previous = [], None
    positions = []
    for t in tokens:
        if t.type == tokenize.NAME and t.string in renames and not any(a <= t.start[0] <= b for a, b in skip):
            if previous is None or previous.string != ".":
                positions.append((t.start, t.end, renames[t.string]))
        if t.type == tokenize.STRING and "f" in t.string[:2].lower() and renames and t.start[0] == t.end[0]:
            text = t.string  # names inside of f-strings are no tokens of their own
            for old, new in renames.items():
                text = re.sub(rf"(\{{[^{{}}]*?)(?<![\w.\"']){old}(?=\.\w)", lambda m, new=new: m[1] + new, text)
                text = re.sub(rf"(\{{[^{{}}]*?)(?<![\w.\"']){old}(?=\.\w)", lambda m, new=new: m[1] + new, text)
            if text != t.string:
                positions.append((t.start, t.end, text))
        if t.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT):
            previous = t
    for (row, a), (_, b), new in sorted(positions, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:a] + new + line[b:]
    for node, groups in sorted(edits, key=lambda e: -e[0].lineno):
        indent = " " * node.col_offset
        text = ""
        for pkg, names in groups.items():
            fixed = []
            for n in dict.fromkeys(names):
                for old, new in aliased.items():
                    if n == new and not pkg.startswith("="):
                        n = f"{new} as {old}"
                fixed.append(n)
            text += f"{indent}from {pkg.removeprefix('=')} import {', '.join(fixed)}\n"
        lines[node.lineno - 1:node.end_lineno] = [text]
    Path(path).write_text("".join(lines), encoding="utf-8")


def replacer(moves, packages, tests, leftovers):
    dotted = {**moves, **packages, **tests}
    short = {o.split(".", 1)[1]: (n.split(".", 1)[1] if n.startswith("growth.") else n)
             for o, n in {**moves, **packages}.items() if o.startswith("growth.") and o.count(".") >= 2}
    paths = {}
    for o, n in {**moves, **tests}.items():
        if is_package(o):
            paths[str(path_of(o, package=True))] = str(path_of(n, package=True))
        else:
            paths[str(path_of(o))] = str(path_of(n))
    for o, n in packages.items():
        paths[str(path_of(o, package=True))] = str(path_of(n, package=True))
    shortpaths = {}
    for o, n in {**moves, **packages}.items():
        if o.startswith("growth.") and n.startswith("growth."):
            a, b = o.split(".", 1)[1].replace(".", "/"), n.split(".", 1)[1].replace(".", "/")
            if "/" in a:
                shortpaths[a] = b
        elif o.startswith("growth.") and n.startswith("growth_lab."):
            a, b = o.split(".", 1)[1].replace(".", "/"), n.replace(".", "/")
            if "/" in a:
                shortpaths[a] = b

    def alt(keys):
        return "|".join(re.escape(k) for k in sorted(keys, key=len, reverse=True)) or r"(?!)"

    rd = re.compile(rf"(?<![\w.])(?:{alt(dotted)})(?!\w)")
    rs = re.compile(rf"(?<![\w./])(?:{alt(short)})(?!\w)")
    rp = re.compile(rf"(?<![\w-])(?:{alt(paths)})(?![\w-])")
    rsp = re.compile(rf"(?<![\w/.-])(growth/)?({alt(shortpaths)})(?![\w-])")

    def full(text):
        text = rd.sub(lambda m: dotted[m[0]], text)
        return rp.sub(lambda m: paths[m[0]], text)

    def prose(text):
        text = rs.sub(lambda m: short[m[0]], text)
        return rsp.sub(lambda m: (m[1] or "") + shortpaths[m[2]], text)

    return full, prose


def rewrite(path, full, prose):
    try:
        before = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    text = full(before)
    if path.endswith(".py"):
        lines = text.splitlines(keepends=True)
        edits = []
        for t in names_in(text):
            if t.type in (tokenize.STRING, tokenize.COMMENT):
                if t.type == tokenize.STRING and "f" in t.string[: min(t.string.find('"') % 99, t.string.find("'") % 99)].lower():
                    continue
                new = prose(t.string)
                if new != t.string:
                    edits.append((t.start, t.end, new))
        for (r1, c1), (r2, c2), new in sorted(edits, reverse=True):
            head, tail = lines[r1 - 1][:c1], lines[r2 - 1][c2:]
            lines[r1 - 1:r2] = [head + new + tail]
        text = "".join(lines)
    elif path.endswith(".md") and not path.startswith("CHANGELOG"):
        text = prose(text)
    if text != before:
        Path(path).write_text(text, encoding="utf-8")


def bound_names(node):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def by_need(new, olds):
    """Paths in the order in which they need each other, as far as imports at the top of the modules say.

    Imports were rewritten before, so that all parts go by the new name: what a part defines tells whose it was.
    """
    defined, needed = {}, {}
    for old in olds:
        tree = ast.parse(path_of(old).read_text(encoding="utf-8"))
        defined[old] = {name for node in tree.body for name in bound_names(node)}
        needed[old] = {a.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == new for a in node.names}
    ordered, left = [], list(olds)
    while left:
        free = [o for o in left if not any(needed[o] & defined[p] for p in left if p != o)]
        if not free:
            print(f"  CYCLE {new}: {left}")
            free = left[:1]
        ordered.append(free[0])
        left.remove(free[0])
    return [str(path_of(old)) for old in ordered]


def merge(new, parts, renames):
    """Put the modules at these paths together; later ones may use what earlier ones define."""
    target = path_of(new)
    docs, imports, bodies, seen, problems = [], [], [], {}, []
    self_names = {new}
    for path in parts:
        source = Path(path).read_text(encoding="utf-8")
        tree = ast.parse(source)
        lines = source.splitlines(keepends=True)
        doc = ast.get_docstring(tree, clean=True)
        body = tree.body[1:] if doc is not None else tree.body
        if doc:
            docs.append(doc)
        last = 0
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                text = "".join(lines[node.lineno - 1:node.end_lineno])
                if not (isinstance(node, ast.ImportFrom) and node.module in self_names):
                    imports.append(text)
                last = node.end_lineno
            else:
                break
        if not last:
            last = tree.body[0].end_lineno if doc is not None else 0
        for node in body:
            for name in bound_names(node):
                if name in seen and not isinstance(node, (ast.Import, ast.ImportFrom)):
                    problems.append((name, seen[name], path))
                seen.setdefault(name, path)
        bodies.append("".join(lines[last:]).strip("\n"))
    for name, first, second in problems:
        print(f"  COLLISION {new}: {name} in {first} and {second}")
    doc = docs[0] if docs else ""
    for other in docs[1:]:
        doc += "\n\n" + other
    quoted = f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""'
    text = quoted + "\n\n" + "".join(imports) + "\n" + "\n\n\n".join(bodies) + "\n"
    target.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    tracked = git("ls-files").split("\n")[:-1]
    wanted = read_table(given.table, given.only)
    moves, packages, merges = expanded(wanted, tracked)
    tests = test_moves(moves, tracked)
    for one in [line for line in wanted if line.startswith(("tests.", "lab.tests."))]:
        for old in wanted[one]:
            tests.pop(old, None)
    everything = {**moves, **tests}
    texts = [p for p in tracked if (p.endswith(TEXTS) or "." not in Path(p).name) and Path(p).is_file()
             and not p.startswith("tools/") and not Path(p).is_symlink() and not p.endswith(("go.sum", "requirements.lock"))]
    for path in texts:
        if path.endswith(".py"):
            rewrite_module_imports(path, everything)
    full, prose = replacer(moves, packages, tests, {})
    for path in texts:
        rewrite(path, full, prose)
    # files
    merged = {old for olds in merges.values() for old in olds}
    plan = []
    for old, new in everything.items():
        if old in merged:
            continue
        if is_package(old):
            continue
        plan.append((str(path_of(old)), str(path_of(new))))
    for old, new in {**packages, **{o: n for o, n in everything.items() if is_package(o)}}.items():
        a, b = path_of(old, package=True), path_of(new, package=True)
        for path in tracked:
            if path.startswith(str(a) + "/") and Path(path).exists() or Path(path).is_symlink() and path.startswith(str(a) + "/"):
                inner = path[len(str(a)) + 1:]
                deepest = max((p for p in {**packages, **{o: n for o, n in everything.items() if is_package(o)}}
                               if path.startswith(str(path_of(p, package=True)) + "/")), key=len)
                if deepest == old and (not path.endswith(".py") or inner == "__init__.py"):
                    plan.append((path, str(b / inner)))
    for a, b in plan:
        if a == b:
            continue
        Path(b).parent.mkdir(parents=True, exist_ok=True)
        if Path(b).exists():
            if a.endswith("__init__.py"):
                git("rm", "-qf", a)
                continue
            # chains (a -> b while b -> c): by way of a name of its own
        git("mv", a, b + ".moving")
    for a, b in plan:
        if Path(b + ".moving").exists() or Path(b + ".moving").is_symlink():
            git("mv", b + ".moving", b)
    for new, olds in merges.items():
        paths = [str(path_of(old)) for old in olds]
        keep = max(paths, key=lambda p: len(Path(p).read_text().splitlines()))
        contents = by_need(new, olds)
        target = path_of(new)
        target.parent.mkdir(parents=True, exist_ok=True)
        merge_target = Path(str(target) + ".merged")
        merge(new, contents, {})
        text = target.read_text()
        for p in paths:
            if p != str(target) and p != keep:
                git("rm", "-qf", "--cached", p)
                Path(p).unlink(missing_ok=True)
        if keep != str(target):
            git("rm", "-qf", "--cached", keep)
            Path(keep).unlink(missing_ok=True)
        target.write_text(text)
        git("add", str(target))
    # every package has its __init__
    for new in {*moves.values(), *tests.values()}:
        folder = path_of(new).parent
        while folder.name not in ("src", "lab", "growth_lab", "growth") and str(folder) not in (".", "tests", "bench", "lab"):
            init = folder / "__init__.py"
            if not init.exists() and any(folder.glob("*.py")):
                init.write_text("")
                git("add", str(init))
                print(f"  new {init}")
            folder = folder.parent
    git("add", "-A")
    for a in {str(path_of(o, package=True)) for o in packages}:
        left = [p for p in Path(a).rglob("*") if p.is_file() and "__pycache__" not in p.parts] if Path(a).is_dir() else []
        if left:
            print("  left:", left[:5])
    ruff = ".venv/bin/ruff"
    subprocess.run([ruff, "check", "--select", "I,F401,F811", "--fix", "-q", "."], check=False)
    subprocess.run([ruff, "format", "-q", "."], check=False)


if __name__ == "__main__":
    sys.exit(main())
