"""Every rule of tests/tidy fires on a small bad file, stays quiet on a good one, and names the line."""
import os
import subprocess

import pytest

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tidy")
LEFTOVER = "FIX" + "ME"
HOST = "pypi." + "org"
SLEEP = "time" + ".sleep"

# (sentence, rule, path, text, line): the rule must be reported at that line.
BAD = [
    ("the store may not include the network", "include-table", "src/store/a.cpp", '#include "net/server.h"\n', 1),
    ("a new folder needs a row", "include-table", "src/newcomer/a.cpp", "int a;\n", 1),
    ("only node/images may see net", "include-table", "src/node/a.cpp", '\n#include "net/client.h"\n', 2),
    ("Asio stays in net", "library-place", "src/apiserver/a.cpp", "#include <boost/asio.hpp>\n", 1),
    ("Beast stays in net", "library-place", "src/client/a.h", "#pragma once\n#include <boost/beast/http.hpp>\n", 2),
    ("OpenSSL stays in net", "library-place", "src/cli/a.cpp", "#include <openssl/ssl.h>\n", 1),
    ("coroutine headers stay in net", "library-place", "src/base/a.cpp", "#include <coroutine>\n", 1),
    ("SQLite stays in store", "library-place", "src/apiserver/a.cpp", "#include <sqlite3.h>\n", 1),
    ("libyaml stays in json", "library-place", "src/cli/a.cpp", "#include <yaml.h>\n", 1),
    ("Boost.JSON is reached through json", "library-place", "src/api/a.cpp", "#include <boost/json.hpp>\n", 1),
    ("coroutines stay in net", "coroutines", "src/store/a.cpp", "auto f() { co_return 1; }\n", 1),
    ("no clock in a planner", "clocks-and-chance", "src/controllers/a.cpp", "auto n = std::chrono::system_clock::now();\n", 1),
    ("no time()", "clocks-and-chance", "src/api/a.cpp", "auto n = time(nullptr);\n", 1),
    ("no rand()", "clocks-and-chance", "src/api/a.cpp", "int n = rand();\n", 1),
    ("no random_device", "clocks-and-chance", "src/api/a.cpp", "std::random_device d;\n", 1),
    ("no mt19937", "clocks-and-chance", "src/api/a.cpp", "std::mt19937_64 engine;\n", 1),
    ("no getrandom", "clocks-and-chance", "src/node/a.cpp", "getrandom(p, 1, 0);\n", 1),
    ("no throw", "throw", "src/api/a.cpp", "void f() { throw Bad{}; }\n", 1),
    ("no throw in a header of json", "throw", "src/json/a.h", "#pragma once\ninline void f() { throw 1; }\n", 2),
    ("leftovers in code", "leftover", "src/api/a.cpp", f"// {LEFTOVER}: later\n", 1),
    ("leftovers in docs", "leftover", "docs/a.md", f"one\n{LEFTOVER} two\n", 2),
    ("sleeping C++ test", "sleep-in-test", "src/api/a_test.cpp", "std::this_thread::sleep_for(1s);\n", 1),
    ("sleeping Python test", "sleep-in-test", "tests/e2e/test_a.py", f"{SLEEP}(1)\n", 1),
    ("header without pragma once", "pragma-once", "src/api/a.h", "int a;\n", 1),
    ("two types of one name", "one-name", "src/api/a.h", "#pragma once\nstruct A {\n};\nclass A : public B {\n};\n", 4),
    ("an endless file", "file-length", "src/api/a.cpp", "int a;\n" * 901, 901),
    ("a tab", "tab", "src/api/a.cpp", "\tint a;\n", 1),
    ("a trailing space", "trailing-space", "docs/a.md", "text \n", 1),
    ("a registry host", "registry-host", "tools/a", f"pip install -i https://{HOST}/simple x\n", 1),
    ("a link to nothing", "doc-link", "docs/a.md", "see [this](nothing.md)\n", 1),
    ("a promise whose test is not there", "named-test", "docs/a.md", "| what | test |\n|---|---|\n| x | `Gone` |\n", 3),
    ("a promise without a test", "named-test", "docs/a.md", "| what | test |\n|---|---|\n| x | |\n", 3),
    ("a link to no heading", "doc-link", "docs/a.md", "# Here\nsee [this](#there)\n", 2),
]

# (sentence, path, text): no rule may be reported.
GOOD = [
    ("net may use Asio, clocks and coroutines", "src/net/a.cpp",
     "#include <boost/asio.hpp>\nauto f() { co_return std::chrono::steady_clock::now(); }\n"),
    ("node/images may include net", "src/node/images/a.cpp", '#include "net/client.h"\n'),
    ("main includes everything", "src/main/a.cpp", '#include "store/store.h"\n#include "net/server.h"\n'),
    ("a .cpp of json wraps a library that throws", "src/json/a.cpp", "void f() { throw 1; }\n"),
    ("words in strings and comments are not code", "src/api/a.cpp",
     '// we never throw, nor call rand(\nconst char* s = "throw rand() co_await";\n'),
    ("a function that ends in time( is not time()", "src/api/a.cpp", "auto t = parse_time(nullptr);\nauto u = x.time(0);\n"),
    ("a raw string may hold anything", "src/api/a_test.cpp", 'auto s = R"x(throw "rand()" sleep_for(1))x";\n'),
    ("a sleep with its reason", "tests/e2e/test_a.py", "# The kernel gives no event for this.\n" + f"{SLEEP}(1)\n"),
    ("a good link", "docs/a.md", "# Here we are\n[x](#here-we-are) [y](a.md) `[z](nowhere.md)`\n"),
    ("a tab may stand in a raw string", "src/api/a_test.cpp", 'auto s = R"(a:\tb)";\n'),
    ("other tables name what they like", "docs/a.md", "| what | why |\n|---|---|\n| x | `Gone` |\n"),
    ("a Makefile needs its tabs", "Makefile", "all:\n\ttrue\n"),
]


def tidy(root):
    run = subprocess.run([TIDY, "--root", str(root)], capture_output=True, text=True)
    assert run.stderr == ""
    return run.returncode, run.stdout


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("about,rule,path,text,line", BAD, ids=[row[0] for row in BAD])
def test_fires(tmp_path, about, rule, path, text, line):
    write(tmp_path, path, text)
    code, output = tidy(tmp_path)
    assert code == 1, about
    assert f"{path}:{line}: {rule}: " in output


@pytest.mark.parametrize("about,path,text", GOOD, ids=[row[0] for row in GOOD])
def test_stays_quiet(tmp_path, about, path, text):
    write(tmp_path, path, text)
    assert tidy(tmp_path) == (0, f"tidy: 1 files, {len(rules())} rules hold, 0 broken\n"), about


def test_every_rule_has_a_bad_file():
    assert set(rules()) == {row[1] for row in BAD}


def rules():
    return subprocess.run([TIDY, "--list"], capture_output=True, text=True).stdout.split()
