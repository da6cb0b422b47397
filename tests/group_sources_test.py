"""tools/group_sources: files with a name of their own in common are never compiled as one."""
import os
import subprocess

import pytest

TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools", "group_sources")


def own(text):
    return "namespace yard {\nnamespace {\n\n" + text + "\n}  // namespace\n}  // namespace yard\n"


# (sentence, one file, another, whether they may be compiled as one)
ROWS = [
    ("files without names of their own", "int a();\n", "int b();\n", True),
    ("different functions", own("int one() {\n  return 1;\n}\n"), own("int two() {\n  return 2;\n}\n"), True),
    ("the same function, behind another",
     own("int one() {\n  return 1;\n}\n\nint same(int a) {\n  return a;\n}\n"), own("int same() {\n  return 2;\n}\n"), False),
    ("the second of two constants", own("constexpr int kA = 1, kB = 2;\n"), own("constexpr int kB{3};\n"), False),
    ("a type and its use elsewhere", own("struct Row {\n  int a;\n};\n"), "Row one();\n", False),
    ("a type that the other has inside a function", own("struct Row {\n};\n"), "int f() {\n  struct Row { int a; };\n}\n", True),
    ("an enumerator", own("enum Flag { kOn, kOff };\n"), own("constexpr int kOff = 1;\n"), False),
    ("a template", own("template <typename T>\nvoid put(T value) {\n}\n"), own("void put() {\n}\n"), False),
    ("a call that would find the other's overload", own("int read(int a) {\n  return a;\n}\n"), "int f() { return read('a'); }\n", False),
    ("a member of the same name", own("int read(int a) {\n  return a;\n}\n"), "int f() { return x.read(y->read); }\n", True),
    ("a name in a comment or a text", own("int read(int a) {\n  return a;\n}\n"), '// read\nconst char* a = "read";\n', True),
    ("the same alias", own("namespace fs = std::filesystem;\n"), own("namespace fs = std::filesystem;\n"), True),
    ("one alias for two things", own("using Role = A;\n"), own("using Role = B;\n"), False),
    ("a static function", "static int one() {\n  return 1;\n}\n", own("int one() {\n  return 1;\n}\n"), False),
    ("a macro", "#define ONE 1\n", "int f() { return ONE; }\n", False),
    ("tests", own("TEST(A, One) {\n}\n"), own("TEST(B, One) {\n}\n"), True),
]


def grouped(folder, files, size=12):
    for name, text in files.items():
        (folder / name).write_text(text)
    run = subprocess.run([TOOL, str(size), *[str(folder / name) for name in files]], capture_output=True, text=True, check=True)
    return {os.path.basename(path): group for group, path in (line.split(";") for line in run.stdout.splitlines())}


@pytest.mark.parametrize("about,one,other,together", ROWS, ids=[row[0] for row in ROWS])
def test_names_decide(tmp_path, about, one, other, together):
    assert (len(grouped(tmp_path, {"a.cpp": one, "b.cpp": other})) == 2) == together


def test_groups_have_a_size(tmp_path):
    groups = grouped(tmp_path, {f"f{number}.cpp": f"int f{number}();\n" for number in range(10)}, size=4)
    assert sorted(list(groups.values()).count(group) for group in set(groups.values())) == [4, 6]
