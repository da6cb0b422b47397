// get, apply and delete against a server that answers from a table.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/apply.h"
#include "cli/delete.h"
#include "cli/fake_connection.h"
#include "cli/get.h"

namespace yard {
namespace {

const char* const kMaps =
    R"({"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[
  {"name":"Name","format":"name"},{"name":"Data"}],"rows":[{"cells":["a",1],"object":{"metadata":{"namespace":"default"}}}]})";
const char* const kNoRows =
    R"({"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[],"rows":[]})";

std::string list_of(const std::string& path) {
  return "GET " + path + "?limit=500";
}

GetOptions get_of(std::vector<std::string> words) {
  GetOptions options;
  options.words = std::move(words);
  return options;
}

TEST(Get, WhatIsPrinted) {
  struct Case {
    const char* about;
    GetOptions options;
    int exit_code;
    const char *out, *err;
  };
  GetOptions as_name = get_of({"cm/a"}), as_yaml = get_of({"cm", "a"}),
             everywhere = get_of({"jobs"});
  as_name.output = "name";
  as_yaml.output = "yaml";
  everywhere.all_namespaces = true;
  GetOptions lenient = get_of({"cm", "ghost"});
  lenient.ignore_not_found = true;
  const Case cases[] = {
      {"a list is the server's table", get_of({"cm"}), kOk, "NAME   DATA\na      1\n", ""},
      {"several types: names carry theirs", get_of({"cm,jobs"}), kOk,
       "NAME          DATA\nconfigmap/a   1\n", ""},
      {"nothing there is said, and is no error", get_of({"jobs"}), kOk, "",
       "No resources found in default namespace.\n"},
      {"nothing there anywhere", everywhere, kOk, "", "No resources found\n"},
      {"a name", as_name, kOk, "configmap/a\n", ""},
      {"one object as YAML", as_yaml, kOk, "kind: ConfigMap\nmetadata:\n  name: a\n", ""},
      {"what is not there", get_of({"cm", "ghost"}), kNotFound, "",
       "Error from server (NotFound): nothing at /api/v1/namespaces/default/configmaps/ghost\n"},
      {"what need not be there", lenient, kOk, "", ""},
      {"an unknown type", get_of({"trains"}), kFailed, "",
       "error: the server doesn't have a resource type \"trains\"\n"},
  };
  for (const Case& each : cases) {
    FakeSession fake;
    add_discovery(fake.connection);
    auto& replies = fake.connection.replies;
    replies[list_of("/api/v1/namespaces/default/configmaps")] = {200, {}, kMaps};
    replies[list_of("/apis/batch/v1/namespaces/default/jobs")] = {200, {}, kNoRows};
    replies[list_of("/apis/batch/v1/jobs")] = {200, {}, kNoRows};
    replies["GET /api/v1/namespaces/default/configmaps/a"] = {
        200, {}, R"({"kind":"ConfigMap","metadata":{"name":"a"}})"};
    EXPECT_EQ(run_get(fake.session, each.options), each.exit_code) << each.about;
    EXPECT_EQ(fake.out.str(), each.out) << each.about;
    EXPECT_EQ(fake.err.str(), each.err) << each.about;
  }
}

TEST(Get, PagesAreOneList) {
  FakeSession fake;
  add_discovery(fake.connection);
  const std::string path = list_of("/api/v1/namespaces/default/configmaps");
  fake.connection.replies[path] = {
      200, {}, R"({"metadata":{"continue":"t o"},"items":[{"metadata":{"name":"a"}}]})"};
  fake.connection.replies[path + "&continue=t%20o"] = {
      200, {}, R"({"metadata":{},"items":[{"metadata":{"name":"b"}}]})"};
  GetOptions options = get_of({"cm"});
  options.output = "json";
  EXPECT_EQ(run_get(fake.session, options), kOk);
  const Json list = json(fake.out.str());
  ASSERT_EQ(find(list, "items")->get_array().size(), 2u);
  EXPECT_EQ(text_at(find(list, "items")->get_array()[1], {"apiVersion"}), "v1");
}

TEST(Get, AWatchGoesOnWhereTheListEnded) {
  FakeSession fake;
  add_discovery(fake.connection);
  fake.connection.replies[list_of("/api/v1/namespaces/default/configmaps")] = {200, {}, kMaps};
  const std::string watch =
      "WATCH /api/v1/namespaces/default/configmaps?watch=true&resourceVersion=";
  fake.connection.replies[watch + "7&allowWatchBookmarks=true"] = {
      200,
      {},
      R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"8"},"columnDefinitions":[],"rows":[{"cells":["bb",2]}]}})"
      "\n"
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"11"},"rows":[{"cells":[]}]}})"
      "\n"};
  fake.connection.replies[watch + "11&allowWatchBookmarks=true"] = {
      200,
      {},
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})"
      "\n"};
  GetOptions options = get_of({"cm"});
  options.watch = true;
  EXPECT_EQ(run_get(fake.session, options), kFailed);
  EXPECT_EQ(fake.out.str(), "NAME   DATA\na      1\nbb     2\n");
  EXPECT_EQ(fake.err.str(), "Error from server (Expired): too old\n");
}

TEST(Get, NoServer) {
  FakeSession fake;
  fake.connection.is_down = true;
  EXPECT_EQ(run_get(fake.session, get_of({"pods"})), kUnreachable);
  EXPECT_EQ(fake.err.str(), "error: no control plane runs for /s\n");
}

TEST(Manifests, PlacesAndErrors) {
  struct Case {
    const char* about;
    const char* text;
    std::vector<std::string> lines;  // place, then the object or the error
  };
  const Case cases[] = {
      {"several documents",
       "a: 1\n---\n# only a comment\n---\nb: 2\n",
       {"f, document 1, line 1: {\"a\":1}", "f, document 2, line 5: {\"b\":2}"}},
      {"JSON",
       "{\"a\": \"\\ud83d\\ude00\",\n\t\"b\": 1}",
       {"f, document 1, line 1: {\"a\":\"😀\",\"b\":1}"}},
      {"a List is its items",
       "kind: List\nitems: [{a: 1}, {b: 2}]\n",
       {"f, document 1, line 1, item 1: {\"a\":1}", "f, document 1, line 1, item 2: {\"b\":2}"}},
      {"a broken document hides no other",
       "a: 1\n---\nb: [\n---\nc: 3\n",
       {"f, document 1, line 1: {\"a\":1}",
        "f, document 2: line 4, column 1: did not find expected node content (while parsing a flow "
        "node)\n\n^",
        "f, document 3, line 5: {\"c\":3}"}},
      {"a key written twice",
       "x: 0\n---\nm: {k: a, k: b}\n",
       {"f, document 1, line 1: {\"x\":0}",
        "f, document 2: line 3, column 11: the key \"k\" is written twice\nm: {k: a, k: b}\n       "
        "   ^"}},
      {"directives belong to the document below",
       "%YAML 1.1\n---\na: 1\n",
       {"f, document 1, line 3: {\"a\":1}"}},
      {"nothing at all", "# hello\n---\n", {}},
  };
  for (const Case& each : cases) {
    std::vector<std::string> lines;
    for (const Manifest& manifest : manifests_of_text("f", each.text)) {
      lines.push_back(
          manifest.place + ": " +
          (manifest.object ? to_text(*manifest.object) : manifest.object.error().message));
    }
    EXPECT_EQ(lines, each.lines) << each.about;
  }
}

TEST(Apply, WhereAnObjectBelongs) {
  struct Case {
    const char* about;
    const char* object;
    NamespaceChoice choice;
    const char* answer;  // a path, or the beginning of the error
  };
  const Case cases[] = {
      {"its own namespace",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"x"}})",
       {"default", false},
       "/api/v1/namespaces/x/pods/p"},
      {"the chosen one",
       R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"p"}})",
       {"y", true},
       "/apis/batch/v1/namespaces/y/jobs/p"},
      {"none for what has none",
       R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})",
       {"y", true},
       "/api/v1/namespaces/n"},
      {"two that differ",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"x"}})",
       {"y", true},
       "the namespace from the provided object \"x\" does not match the namespace \"y\""},
      {"a kind nobody serves",
       R"({"apiVersion":"v1","kind":"Train","metadata":{"name":"p"}})",
       {"y", false},
       "no matches for kind \"Train\" in version \"v1\""},
      {"no name",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{}})",
       {"y", false},
       "the object has no metadata.name"},
      {"a name yet to be made",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a-"}})",
       {"y", false},
       "metadata.generateName cannot be applied"},
      {"no kind", R"({"apiVersion":"v1"})", {"y", false}, "the object has no kind"},
      {"no object", "[1]", {"y", false}, "the document is no object"},
  };
  FakeSession fake;
  add_discovery(fake.connection);
  const auto types = discover(fake.session);
  ASSERT_TRUE(types.has_value());
  for (const Case& each : cases) {
    const auto located = locate(*types, json(each.object), each.choice);
    const std::string answer =
        located ? resource_path(located->type, located->address) : located.error().message;
    EXPECT_TRUE(answer.starts_with(each.answer)) << each.about << ": " << answer;
  }
}

TEST(Apply, Outcomes) {
  const Json stored =
      json(R"({"metadata":{"resourceVersion":"5","managedFields":[]},"data":{"a":"1"}})");
  const Json same =
      json(R"({"metadata":{"resourceVersion":"5","managedFields":[1]},"data":{"a":"1"}})");
  const Json newer = json(R"({"metadata":{"resourceVersion":"6"},"data":{"a":"1"}})");
  const Json dry = json(R"({"metadata":{"resourceVersion":"5"},"data":{"a":"2"}})");
  EXPECT_EQ(apply_outcome(201, std::nullopt, newer), "created");
  EXPECT_EQ(apply_outcome(200, stored, same), "unchanged");
  EXPECT_EQ(apply_outcome(200, stored, newer), "configured");
  EXPECT_EQ(apply_outcome(200, stored, dry), "configured");
}

class InFolder : public testing::Test {
 protected:
  InFolder() {
    char name[] = "/tmp/yard_cli_test_XXXXXX";
    check(mkdtemp(name) != nullptr, "a temporary folder can be made");
    folder_ = name;
  }
  ~InFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string folder_;
};

TEST_F(InFolder, ApplyGoesOnAfterErrors) {
  FakeSession fake;
  add_discovery(fake.connection);
  const std::string query = "?fieldManager=trainyard&fieldValidation=Strict";
  fake.connection.replies["PATCH /api/v1/namespaces/default/configmaps/a" + query] = {
      201, {}, R"({"metadata":{"name":"a","resourceVersion":"2"}})"};
  fake.connection.replies["PATCH /api/v1/namespaces/default/configmaps/b" + query] = {
      409,
      {},
      R"({"kind":"Status","reason":"Conflict","message":"1 conflict with \"kubectl\": .data.x"})"};
  write("1.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\na: [\n");
  write("2.json", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
  write("notes.txt", "no manifest");
  write("deeper/3.yml", "kind: ConfigMap\n");
  EXPECT_EQ(run_apply(fake.session, {.source = {{folder_}, true}}), kFailed);
  EXPECT_EQ(fake.out.str(), "configmap/a created\n");
  EXPECT_EQ(fake.err.str(),
            "error: " + folder_ +
                "/1.yaml, document 1, line 1: Error from server (Conflict): 1 conflict with "
                "\"kubectl\": .data.x\n" +
                "hint: another manager owns these fields; --force-conflicts takes them over\n" +
                "error: " + folder_ +
                "/1.yaml, document 2: line 6, column 1: did not find expected node content (while "
                "parsing a flow node)\n\n^\n" +
                "error: " + folder_ +
                "/deeper/3.yml, document 1, line 1: the object has no apiVersion\n");
}

TEST_F(InFolder, WhatCannotBeRead) {
  FakeSession fake;
  add_discovery(fake.connection);
  write("empty.yaml", "# nothing\n");
  write("sub/x.txt", "");
  EXPECT_EQ(
      run_apply(
          fake.session,
          {.source = {{folder_ + "/none.yaml", folder_ + "/empty.yaml", folder_ + "/sub"}, false}}),
      kFailed);
  EXPECT_EQ(fake.err.str(),
            "error: " + folder_ + "/none.yaml: cannot be read: No such file or directory\n" +
                "error: " + folder_ + "/empty.yaml: there is no object in it\n" +
                "error: " + folder_ +
                "/sub: holds no .yaml, .yml or .json file; -R looks in its folders too\n");
}

TEST(Delete, WaitsForTheWatchToSaySo) {
  FakeSession fake;
  add_discovery(fake.connection);
  const std::string path = "/apis/batch/v1/namespaces/default/jobs";
  fake.connection.replies["DELETE " + path + "/j"] = {200, {}, R"({"metadata":{"uid":"u"}})"};
  fake.connection.replies["GET " + path + "/j"] = {
      200, {}, R"({"metadata":{"uid":"u","resourceVersion":"9"}})"};
  fake.connection.replies["WATCH " + path +
                          "?watch=true&fieldSelector=metadata.name%3Dj&resourceVersion=9"] = {
      200, {}, "{\"type\":\"MODIFIED\",\"object\":{}}\n{\"type\":\"DELETED\",\"object\":{}}\n"};
  EXPECT_EQ(run_delete(fake.session, {.words = {"job", "j", "ghost"}, .cascade = "foreground"}),
            kNotFound);
  EXPECT_EQ(fake.out.str(), "job.batch \"j\" deleted\n");
  EXPECT_EQ(fake.connection.asked.back().substr(0, 5), "WATCH");
  EXPECT_NE(fake.connection.bodies[2].find("\"propagationPolicy\":\"Foreground\""),
            std::string::npos);
}

TEST(Delete, ATypeAloneIsNotEnough) {
  FakeSession fake;
  add_discovery(fake.connection);
  EXPECT_EQ(run_delete(fake.session, {.words = {"jobs"}}), kFailed);
  EXPECT_EQ(fake.err.str(),
            "error: name what to delete: `jobs NAME`, `jobs -l LABEL=VALUE` or `jobs --all`\n");
}

}  // namespace
}  // namespace yard
