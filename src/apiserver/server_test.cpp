#include "apiserver/server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/api_harness.h"

namespace yard {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

class ServerTest : public testing::Test {
 protected:
  ServerTest() { yard.make_namespace("default"); }

  Answer create_map(const std::string& name,
                    const std::string& members = "\"data\":{\"a\":\"1\"}") {
    return yard.call("POST", kMaps,
                     fmt::format("{{\"metadata\":{{\"name\":\"{}\"}},{}}}", name, members));
  }
  static std::string map(const std::string& name) { return std::string(kMaps) + "/" + name; }
  static std::string message(const Answer& answer) {
    return std::string(text_at(answer.json, {"message"}));
  }
  static std::string reason(const Answer& answer) {
    return std::string(text_at(answer.json, {"reason"}));
  }
  static std::string revision(const Answer& answer) {
    return std::string(text_at(answer.json, {"metadata", "resourceVersion"}));
  }

  ApiHarness yard;
};

TEST_F(ServerTest, CreateFillsWhatTheServerOwns) {
  const Answer made = create_map("m");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(text_at(made.json, {"kind"}), "ConfigMap");
  EXPECT_EQ(text_at(made.json, {"metadata", "namespace"}), "default");
  EXPECT_EQ(text_at(made.json, {"metadata", "uid"}).size(), 36u);
  EXPECT_EQ(text_at(made.json, {"metadata", "creationTimestamp"}), rfc3339(yard.loop.now()));
  EXPECT_FALSE(revision(made).empty());
  EXPECT_EQ(find_path(made.json, {"metadata", "generation"}), nullptr);
  const Answer got = yard.call("GET", map("m"));
  EXPECT_EQ(got.text, made.text);
  EXPECT_EQ(got.header("Cache-Control"), "no-cache, private");
}

TEST_F(ServerTest, EveryErrorHasItsReasonAndWords) {
  ASSERT_EQ(create_map("m").status, 201);
  const struct {
    const char* about;
    const char *method, *target, *body;
    int status;
    const char *reason, *message;
  } rows[] = {
      {"a missing object", "GET", "/api/v1/namespaces/default/configmaps/none", "", 404, "NotFound",
       "configmaps \"none\" not found"},
      {"a missing object of a named group", "GET", "/apis/batch/v1/namespaces/default/jobs/none",
       "", 404, "NotFound", "jobs.batch \"none\" not found"},
      {"an unknown resource of a served version", "GET", "/api/v1/namespaces/default/nothings", "",
       404, "NotFound", "the server could not find the requested resource"},
      {"a name that is taken", "POST", kMaps, "{\"metadata\":{\"name\":\"m\"}}", 409,
       "AlreadyExists", "configmaps \"m\" already exists"},
      {"a namespace that is not there", "POST", "/api/v1/namespaces/nons/configmaps",
       "{\"metadata\":{\"name\":\"m\"}}", 404, "NotFound", "namespaces \"nons\" not found"},
      {"another namespace in the body", "POST", kMaps,
       "{\"metadata\":{\"name\":\"x\",\"namespace\":\"other\"}}", 400, "BadRequest",
       "the namespace of the provided object does not match the namespace sent on the request"},
      {"another name in the body", "PUT", "/api/v1/namespaces/default/configmaps/m",
       "{\"metadata\":{\"name\":\"y\"}}", 400, "BadRequest",
       "the name of the object (y) does not match the name on the URL (m)"},
      {"no name in the body", "PUT", "/api/v1/namespaces/default/configmaps/m", "{}", 400,
       "BadRequest",
       "the name of the object (m based on URL) was undeterminable: name must be provided"},
      {"no name in the body of what a PUT would create", "PUT",
       "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", "{}", 400, "BadRequest",
       "the name of the object (l based on URL) was undeterminable: name must be provided"},
      {"a stale revision", "PUT", "/api/v1/namespaces/default/configmaps/m",
       "{\"metadata\":{\"name\":\"m\",\"resourceVersion\":\"1\"}}", 409, "Conflict",
       "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please "
       "apply your changes to the latest version and try again"},
      {"a version that does not match", "POST", kMaps,
       "{\"apiVersion\":\"v2\",\"kind\":\"ConfigMap\"}", 400, "BadRequest",
       "the API version in the data (v2) does not match the expected API version (v1)"},
      {"a method the path does not know", "PUT", kMaps, "{}", 405, "MethodNotAllowed",
       "the server does not allow this method on the requested resource"},
      {"a list limit that is no number", "GET", "/api/v1/configmaps?limit=abc", "", 400,
       "BadRequest", "strconv.ParseInt: parsing \"abc\": invalid syntax"},
      {"a timeout that is none", "GET", "/api/v1/configmaps?timeout=abc", "", 400, "BadRequest",
       "invalid timeout specified in the request URL - time: invalid duration \"abc\""},
      {"an unknown propagation", "DELETE",
       "/api/v1/namespaces/default/configmaps/m?propagationPolicy=Foo", "", 422, "Invalid",
       "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Foo\": "
       "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""},
      {"a protected namespace", "DELETE", "/api/v1/namespaces/default", "", 403, "Forbidden",
       "namespaces \"default\" is forbidden: this namespace may not be deleted"},
  };
  for (const auto& row : rows) {
    const Answer answer = yard.call(row.method, row.target, row.body);
    EXPECT_EQ(answer.status, row.status) << row.about << ": " << answer.text;
    EXPECT_EQ(reason(answer), row.reason) << row.about;
    EXPECT_EQ(message(answer), row.message) << row.about;
    EXPECT_EQ(int_at(answer.json, {"code"}), row.status) << row.about;
  }
  EXPECT_EQ(yard.call("GET", "/apis/nothing.io/v1/x").text, "404 page not found\n");
}

TEST_F(ServerTest, AWriteThatChangesNothingKeepsTheRevision) {
  const Answer made = create_map("m");
  EXPECT_EQ(revision(yard.patch(map("m"), "{\"data\":{\"a\":\"1\"}}")), revision(made));
  EXPECT_EQ(revision(yard.call("PUT", map("m"), made.text)), revision(made));
  EXPECT_NE(revision(yard.patch(map("m"), "{\"data\":{\"a\":\"2\"}}")), revision(made));
}

TEST_F(ServerTest, PatchesOfThreeKinds) {
  create_map("m");
  EXPECT_EQ(text_at(yard.patch(map("m"), "{\"data\":{\"b\":\"2\"}}").json, {"data", "b"}), "2");
  EXPECT_EQ(find_path(yard.patch(map("m"), "{\"data\":{\"a\":null}}", "strategic-merge").json,
                      {"data", "a"}),
            nullptr);
  EXPECT_EQ(
      text_at(yard.patch(map("m"), "[{\"op\":\"replace\",\"path\":\"/data/b\",\"value\":\"3\"}]",
                         "json")
                  .json,
              {"data", "b"}),
      "3");
  EXPECT_EQ(yard.patch(map("m"), "[{\"op\":\"test\",\"path\":\"/data/b\",\"value\":\"9\"}]", "json")
                .status,
            422);
  EXPECT_EQ(yard.patch(map("m"), "{\"op\":1}", "json").status, 400);
  EXPECT_EQ(yard.patch(map("m"), "{\"metadata\":{\"resourceVersion\":\"1\"}}").status, 409);
  EXPECT_EQ(yard.call("PATCH", map("m"), "{}", {{"Content-Type", "application/json"}}).status, 415);
}

TEST_F(ServerTest, DryRunsStoreNothing) {
  const Answer made = yard.call("POST", std::string(kMaps) + "?dryRun=All",
                                "{\"metadata\":{\"generateName\":\"g-\"}}");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(text_at(made.json, {"metadata", "name"}).size(), 7u);
  EXPECT_EQ(find_path(made.json, {"metadata", "resourceVersion"}), nullptr);
  EXPECT_EQ(find(yard.call("GET", kMaps).json, "items")->get_array().size(), 0u);
  create_map("m");
  EXPECT_EQ(text_at(yard.call("PATCH", map("m") + "?dryRun=All", "{\"data\":{\"a\":\"9\"}}",
                              {{"Content-Type", "application/merge-patch+json"}})
                        .json,
                    {"data", "a"}),
            "9");
  EXPECT_EQ(yard.call("DELETE", map("m") + "?dryRun=All").status, 200);
  EXPECT_EQ(text_at(yard.call("GET", map("m")).json, {"data", "a"}), "1");
}

TEST_F(ServerTest, UnknownFieldsAreRefusedWarnedAboutOrDropped) {
  const std::string body =
      "{\"metadata\":{\"name\":\"f\",\"bogus\":1},\"foo\":2,\"data\":{\"a\":\"1\",\"a\":\"2\"}}";
  const Answer strict = yard.call("POST", std::string(kMaps) + "?fieldValidation=Strict", body);
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(message(strict),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
            "unknown field \"metadata.bogus\", "
            "unknown field \"foo\", duplicate field \"data.a\"");
  const Answer warned = yard.call("POST", kMaps, body);
  EXPECT_EQ(warned.status, 201);
  EXPECT_EQ(warned.header("Warning"), "299 - \"unknown field \\\"metadata.bogus\\\"\"");
  EXPECT_EQ(text_at(warned.json, {"data", "a"}), "2");
  EXPECT_EQ(find(warned.json, "foo"), nullptr);
  yard.call("DELETE", map("f"));
  EXPECT_EQ(
      yard.call("POST", std::string(kMaps) + "?fieldValidation=Ignore", body).header("Warning"),
      "");
}

TEST_F(ServerTest, FinalizersHoldAnObjectUntilTheLastIsGone) {
  create_map("m", "\"metadata\":{\"name\":\"m\",\"finalizers\":[\"a.io/b\"]}");
  const Answer marked = yard.call("DELETE", map("m"));
  EXPECT_EQ(marked.status, 200);
  EXPECT_NE(find_path(marked.json, {"metadata", "deletionTimestamp"}), nullptr);
  const Answer refused =
      yard.patch(map("m"), "{\"metadata\":{\"finalizers\":[\"a.io/b\",\"b.io/n\"]}}");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(yard.patch(map("m"), "{\"metadata\":{\"finalizers\":null}}").status, 200);
  EXPECT_EQ(yard.call("GET", map("m")).status, 404);
}

TEST_F(ServerTest, DeletePreconditions) {
  create_map("m");
  const Answer refused = yard.call("DELETE", map("m"), "{\"preconditions\":{\"uid\":\"abc\"}}");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(text_at(refused.json, {"details", "kind"}), "ConfigMap");
  const Answer gone = yard.call("DELETE", map("m"), "{\"propagationPolicy\":\"Background\"}");
  EXPECT_EQ(text_at(gone.json, {"status"}), "Success");
  EXPECT_EQ(text_at(gone.json, {"details", "kind"}), "configmaps");
}

TEST_F(ServerTest, PagesShowOneRevision) {
  for (const char* name : {"a", "b", "c", "d", "e"})
    create_map(name);
  const Answer first = yard.call("GET", std::string(kMaps) + "?limit=2");
  EXPECT_EQ(find(first.json, "items")->get_array().size(), 2u);
  EXPECT_EQ(int_at(first.json, {"metadata", "remainingItemCount"}), 3);
  create_map("c2");
  yard.call("DELETE", map("d"));
  std::string names, token(text_at(first.json, {"metadata", "continue"}));
  while (!token.empty()) {
    const Answer page = yard.call("GET", std::string(kMaps) + "?limit=2&continue=" + token);
    ASSERT_EQ(page.status, 200) << page.text;
    EXPECT_EQ(revision(page), revision(first));
    for (const Json& item : find(page.json, "items")->get_array())
      names += std::string(text_at(item, {"metadata", "name"})) + " ";
    token = text_at(page.json, {"metadata", "continue"});
  }
  EXPECT_EQ(names, "c d e ");
  EXPECT_EQ(yard.call("GET", std::string(kMaps) + "?limit=2&continue=bad").status, 400);
}

TEST_F(ServerTest, ARevisionFromTheFutureIsWaitedForAndThenRefused) {
  const Answer late = yard.call("GET", std::string(kMaps) + "?resourceVersion=99999999");
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(late.header("Retry-After"), "1");
  EXPECT_EQ(text_at(find_path(late.json, {"details", "causes"})->at(0), {"reason"}),
            "ResourceVersionTooLarge");
}

TEST_F(ServerTest, TablesAndMetadataAreOtherShapesOfTheSame) {
  create_map("m", "\"data\":{\"a\":\"1\",\"b\":\"2\"}");
  const Answer table =
      yard.call("GET", kMaps, "",
                {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}});
  EXPECT_EQ(text_at(table.json, {"kind"}), "Table");
  const Json& row = find(table.json, "rows")->at(0);
  EXPECT_EQ(to_text(*find(row, "cells")), "[\"m\",2,\"0s\"]");
  EXPECT_EQ(text_at(row, {"object", "kind"}), "PartialObjectMetadata");
  const Answer metadata =
      yard.call("GET", kMaps, "",
                {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(text_at(find(metadata.json, "items")->at(0), {"metadata", "name"}), "m");
  EXPECT_EQ(find(find(metadata.json, "items")->at(0), "data"), nullptr);
  EXPECT_EQ(yard.call("GET", kMaps, "", {{"Accept", "application/vnd.kubernetes.protobuf"}}).status,
            406);
  const Answer list = yard.call("GET", kMaps);
  EXPECT_EQ(find(find(list.json, "items")->at(0), "kind"), nullptr);
}

// The vector of api-machinery C.5.
TEST_F(ServerTest, WatchersSeeObjectsEnterAndLeaveTheirSelection) {
  const auto selected = yard.watch(std::string(kMaps) + "?watch=1&labelSelector=w%3D1");
  const auto all = yard.watch(std::string(kMaps) + "?watch=1");
  const auto seen = [](const std::shared_ptr<SimStream>& stream) {
    std::string out;
    for (const Json& event : stream->take_events()) {
      out += fmt::format("{} w={} s={};", text_at(event, {"type"}),
                         text_at(event, {"object", "metadata", "labels", "w"}),
                         text_at(event, {"object", "metadata", "labels", "s"}));
    }
    return out;
  };
  yard.call("POST", kMaps,
            "{\"metadata\":{\"name\":\"wf\",\"labels\":{\"w\":\"1\",\"s\":\"1\"},\"finalizers\":["
            "\"a.io/b\"]}}");
  EXPECT_EQ(seen(selected), "ADDED w=1 s=1;");
  EXPECT_EQ(seen(all), "ADDED w=1 s=1;");
  yard.patch(map("wf"), "{\"metadata\":{\"labels\":{\"s\":\"2\"}}}");
  EXPECT_EQ(seen(selected), "MODIFIED w=1 s=2;");
  const Answer left =
      yard.patch(map("wf"), "{\"metadata\":{\"labels\":{\"w\":\"0\",\"s\":\"3\"}}}");
  const auto leaving = selected->take_events();
  ASSERT_EQ(leaving.size(), 1u);
  EXPECT_EQ(text_at(leaving[0], {"type"}), "DELETED");
  EXPECT_EQ(text_at(leaving[0], {"object", "metadata", "labels", "w"}), "1");
  EXPECT_EQ(text_at(leaving[0], {"object", "metadata", "resourceVersion"}), revision(left));
  yard.patch(map("wf"), "{\"metadata\":{\"labels\":{\"w\":\"1\"}}}");
  EXPECT_EQ(seen(selected), "ADDED w=1 s=3;");
  yard.patch(map("wf"), "{\"metadata\":{\"labels\":{\"w\":\"1\"}}}");
  EXPECT_EQ(seen(selected), "");
  yard.call("DELETE", map("wf"));
  EXPECT_EQ(seen(selected), "MODIFIED w=1 s=3;");
  yard.patch(map("wf"), "{\"metadata\":{\"finalizers\":null}}");
  EXPECT_EQ(seen(selected), "DELETED w=1 s=3;");
  EXPECT_EQ(seen(all),
            "MODIFIED w=1 s=2;MODIFIED w=0 s=3;MODIFIED w=1 s=3;MODIFIED w=1 s=3;DELETED w=1 s=3;");
}

TEST_F(ServerTest, WatchesBeginWhereTheyAreTold) {
  const Answer made = create_map("m");
  yard.patch(map("m"), "{\"data\":{\"a\":\"2\"}}");
  const auto resumed =
      yard.watch(std::string(kMaps) + "?watch=1&resourceVersion=" + revision(made));
  auto events = resumed->take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(text_at(events[0], {"type"}), "MODIFIED");
  const auto streamed = yard.watch(
      std::string(kMaps) +
      "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  events = streamed->take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(text_at(events[0], {"type"}), "ADDED");
  EXPECT_EQ(text_at(events[1], {"type"}), "BOOKMARK");
  EXPECT_EQ(text_at(events[1], {"object", "metadata", "annotations", "k8s.io/initial-events-end"}),
            "true");
  EXPECT_EQ(yard.call("GET", std::string(kMaps) + "?watch=1&sendInitialEvents=true").status, 422);
}

TEST_F(ServerTest, AWatcherThatReadsNothingIsCutOffWithinItsBound) {
  const auto slow = yard.watch(std::string(kMaps) + "?watch=1");
  const auto quick = yard.watch(std::string(kMaps) + "?watch=1");
  slow->stuck = true;
  const std::string big(900'000, 'x');
  for (int i = 0; i < 12; ++i)
    create_map(fmt::format("m{}", i), "\"data\":{\"a\":\"" + big + "\"}");
  EXPECT_TRUE(slow->closed);
  const auto events = slow->take_events();
  EXPECT_EQ(text_at(events.back(), {"type"}), "ERROR");
  EXPECT_EQ(int_at(events.back(), {"object", "code"}), 410);
  EXPECT_EQ(quick->take_events().size(), 12u);
}

TEST_F(ServerTest, WatchTimeoutsCloseCleanlyAfterABookmark) {
  const auto watch = yard.watch(
      std::string(kMaps) + "?watch=1&resourceVersion=0&timeoutSeconds=10&allowWatchBookmarks=true");
  watch->take_events();
  yard.loop.advance(std::chrono::seconds(9));
  const auto events = watch->take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(text_at(events[0], {"type"}), "BOOKMARK");
  EXPECT_FALSE(watch->closed);
  yard.loop.advance(std::chrono::seconds(2));
  EXPECT_TRUE(watch->closed);
}

TEST_F(ServerTest, WithoutCredentialsOnlyFourPathsAnswer) {
  const auto ask = [&](const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.target = path;
    auto responder = std::make_shared<SimResponder>(yard.loop);
    yard.api->handle(std::move(request), responder);
    yard.loop.run_ready();
    return responder->answer.status;
  };
  for (const char* path : {"/version", "/healthz", "/livez", "/readyz"})
    EXPECT_EQ(ask(path), 200) << path;
  for (const char* path :
       {"/", "/api", "/apis", "/api/v1", "/metrics", "/openapi/v3", "/openapi/v2",
        "/api/v1/secrets", "/api/v1/namespaces/default/secrets/x", "/nothing"}) {
    EXPECT_EQ(ask(path), 401) << path;
  }
}

TEST_F(ServerTest, WhatIsNotServedIsNotFound) {
  for (const char* path : {"pods/p/resize", "pods/p/attach/x"}) {
    const std::string target = std::string("/api/v1/namespaces/default/") + path;
    EXPECT_EQ(yard.call("POST", target, "{}").status, 404) << path;
    EXPECT_EQ(yard.call("GET", target).status, 404) << path;
  }
}

TEST_F(ServerTest, StreamsOfAPodAreRefusedInOrder) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  yard.call("POST", "/api/v1/namespaces/default/serviceaccounts",
            R"({"metadata":{"name":"default"}})");
  ASSERT_EQ(yard.call("POST", pods,
                      R"({"metadata":{"name":"two"},"spec":{"containers":[)"
                      R"({"name":"a","image":"i"},{"name":"b","image":"i"}]}})")
                .status,
            201);
  const struct {
    const char* about;
    const char* target;
    int status;
    const char* message;
  } cases[] = {
      {"no stream", "/two/exec?command=x", 400,
       "you must specify at least 1 of stdin, stdout, stderr"},
      {"no command", "/two/exec?stdout=1", 400,
       "you must specify at least one command for the container"},
      {"no pod", "/none/exec?command=x&stdout=1", 404, "pods \"none\" not found"},
      {"no container", "/two/exec?command=x&stdout=1", 400,
       "a container name must be specified for pod two, choose one of: [a b]"},
      {"a wrong one", "/two/attach?container=z&stdout=1", 400,
       "container z is not valid for pod two"},
      {"no node", "/two/attach?container=a&stdout=1", 400, "pod two does not have a host assigned"},
      {"no node for a port either", "/two/portforward", 400,
       "pod two does not have a host assigned"},
  };
  for (const auto& each : cases) {
    for (const char* method : {"GET", "POST"}) {
      const Answer answer = yard.call(method, pods + each.target);
      EXPECT_EQ(answer.status, each.status) << each.about;
      EXPECT_EQ(text_at(answer.json, {"message"}), each.message) << each.about;
    }
  }
}

TEST_F(ServerTest, CollectionsAreDeletedBySelector) {
  yard.call("POST", kMaps, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}}");
  create_map("b");
  const Answer deleted = yard.call("DELETE", std::string(kMaps) + "?labelSelector=x%3D1");
  EXPECT_EQ(text_at(deleted.json, {"kind"}), "ConfigMapList");
  EXPECT_EQ(yard.call("GET", map("a")).status, 404);
  EXPECT_EQ(yard.call("GET", map("b")).status, 200);
}

TEST_F(ServerTest, WritersThatRaceAllSucceedOrAreTold) {
  create_map("m", "\"data\":{}");
  std::vector<std::shared_ptr<SimResponder>> writers;
  for (int i = 0; i < 20; ++i) {
    writers.push_back(yard.send("PATCH", map("m"), fmt::format("{{\"data\":{{\"k{}\":\"v\"}}}}", i),
                                {{"Content-Type", "application/merge-patch+json"}}));
  }
  yard.loop.advance(std::chrono::seconds(5));
  for (const auto& writer : writers)
    EXPECT_EQ(writer->answer.status, 200) << writer->answer.text;
  EXPECT_EQ(find(yard.call("GET", map("m")).json, "data")->get_object().size(), 20u);
}

TEST_F(ServerTest, DiscoveryAgreesInBothForms) {
  const Answer legacy = yard.call("GET", "/apis/batch/v1");
  EXPECT_EQ(text_at(legacy.json, {"groupVersion"}), "batch/v1");
  const Answer aggregated = yard.call(
      "GET", "/apis", "",
      {{"Accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}});
  EXPECT_EQ(aggregated.header("Content-Type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(
      yard.call("GET", "/apis", "",
                {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
                 {"If-None-Match", aggregated.header("ETag")}})
          .status,
      304);
  size_t resources = 0;
  for (const Json& group : find(aggregated.json, "items")->get_array()) {
    for (const Json& version : find(group, "versions")->get_array())
      resources += find(version, "resources")->get_array().size();
  }
  size_t expected = 0;
  for (const KindPtr& kind : builtin_kinds())
    expected += kind->group.empty() ? 0 : 1;
  EXPECT_EQ(resources, expected);
  const Answer index = yard.call("GET", "/openapi/v3");
  for (const auto& entry : find(index.json, "paths")->get_object()) {
    const Answer document =
        yard.call("GET", std::string(text_at(entry.value(), {"serverRelativeURL"})));
    EXPECT_EQ(document.status, 200) << entry.key();
    EXPECT_EQ(text_at(document.json, {"openapi"}), "3.0.0");
  }
}

TEST_F(ServerTest, ServerSideApplyCreatesMergesAndNamesConflicts) {
  const auto apply = [&](const std::string& manager, const std::string& data,
                         const std::string& more = "") {
    return yard.call(
        "PATCH", map("m") + "?fieldManager=" + manager + more,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":" +
            data + "}",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  EXPECT_EQ(apply("one", "{\"a\":\"1\"}").status, 201);
  const Answer again = apply("one", "{\"a\":\"1\"}");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(revision(again), revision(yard.call("GET", map("m"))));
  EXPECT_EQ(apply("two", "{\"b\":\"2\"}").status, 200);
  const Answer conflict = apply("two", "{\"a\":\"9\"}");
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(message(conflict), "Apply failed with 1 conflict: conflict with \"one\": .data.a");
  EXPECT_EQ(text_at(apply("two", "{\"a\":\"9\"}", "&force=true").json, {"data", "a"}), "9");
  EXPECT_EQ(apply("one", "{\"a\":{\"x\":1}}").status, 400);
}

// A kube-apiserver 1.34 answers so: what is there lends its name, what is not has none.
TEST_F(ServerTest, OnlyWhatIsThereMayBeAppliedWithoutItsName) {
  const auto patch = [&](const std::string& type, const std::string& body) {
    return yard.call("PATCH", map("m") + "?fieldManager=one", body,
                     {{"Content-Type", "application/" + type}});
  };
  const std::string
      nameless = "{apiVersion: v1, kind: ConfigMap, data: {a: b}}",
      sentence =
          "the name of the object (m based on URL) was undeterminable: name must be provided";
  const Answer refused = patch("apply-patch+yaml", nameless);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(message(refused), sentence);
  EXPECT_EQ(yard.call("POST", kMaps, R"({"metadata":{"name":"m"}})").status, 201);
  EXPECT_EQ(patch("apply-patch+yaml", nameless).status, 200);
  EXPECT_EQ(message(patch("merge-patch+json", R"({"metadata":{"name":null}})")), sentence);
  EXPECT_EQ(message(patch("json-patch+json", R"([{"op":"remove","path":"/metadata/name"}])")),
            sentence);
}

TEST_F(ServerTest, AKeyAppliedTwiceCountsAsFieldValidationSays) {
  const auto apply = [&](const std::string& validation) {
    return yard.call(
        "PATCH", map("m") + "?fieldManager=one&fieldValidation=" + validation,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  a: one\n  a: two\n",
        {{"Content-Type", "application/apply-patch+yaml"}});
  };
  const Answer strict = apply("Strict");
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(message(strict),
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "
            "line 6: key \"a\" already set in map");
  const Answer warned = apply("Warn");
  EXPECT_EQ(warned.status, 201);
  EXPECT_EQ(text_at(warned.json, {"data", "a"}), "two");
  EXPECT_EQ(apply("Ignore").status, 200);
}

TEST_F(ServerTest, ReviewsAreNoTables) {
  const auto ask = [&](const std::string& accept) {
    return yard
        .call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
              R"({"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}})",
              {{"Accept", accept}})
        .status;
  };
  const std::string table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  EXPECT_EQ(ask(table), 406);
  EXPECT_EQ(ask(table + ",application/json"), 201);
}

TEST_F(ServerTest, BindingHappensOnce) {
  yard.call("POST", "/api/v1/namespaces/default/serviceaccounts",
            "{\"metadata\":{\"name\":\"default\"}}");
  const Answer pod = yard.call("POST", "/api/v1/namespaces/default/pods",
                               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":"
                               "\"c\",\"image\":\"i\"}]}}");
  ASSERT_EQ(pod.status, 201) << pod.text;
  const std::string binding =
      "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}";
  EXPECT_EQ(yard.call("POST", "/api/v1/namespaces/default/pods/p/binding", binding).status, 201);
  const Answer again = yard.call("POST", "/api/v1/namespaces/default/pods/p/binding", binding);
  EXPECT_EQ(message(again),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
            "node \"n1\"");
  const Answer grace = yard.call("DELETE", "/api/v1/namespaces/default/pods/p");
  EXPECT_EQ(int_at(grace.json, {"metadata", "deletionGracePeriodSeconds"}), 30);
  EXPECT_EQ(
      int_at(yard.call("DELETE", "/api/v1/namespaces/default/pods/p", "{\"gracePeriodSeconds\":5}")
                 .json,
             {"metadata", "deletionGracePeriodSeconds"}),
      5);
  EXPECT_EQ(
      yard.call("DELETE", "/api/v1/namespaces/default/pods/p", "{\"gracePeriodSeconds\":0}").status,
      200);
  EXPECT_EQ(yard.call("GET", "/api/v1/namespaces/default/pods/p").status, 404);
}

TEST_F(ServerTest, ADryRunIsJudgedAsTheWriteWouldBe) {
  ASSERT_EQ(create_map("m").status, 201);
  const std::string dry = std::string(kMaps) + "?dryRun=All";
  EXPECT_EQ(yard.call("POST", dry, R"({"metadata":{"name":"m"}})").status, 409);
  const char* quotas = "/api/v1/namespaces/default/resourcequotas";
  ASSERT_EQ(yard.call("POST", quotas,
                      R"({"metadata":{"name":"q"},"spec":{"hard":{"count/configmaps":"1"}}})")
                .status,
            201);
  const Answer full = yard.call("POST", dry, R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(full.status, 403) << full.text;
  EXPECT_NE(message(full).find("exceeded quota: q"), std::string::npos) << message(full);
  const char* services = "/api/v1/namespaces/default/services";
  const std::string taken = R"(,"spec":{"clusterIP":"10.96.7.7","ports":[{"port":80}]}})";
  ASSERT_EQ(yard.call("POST", services, R"({"metadata":{"name":"a"})" + taken).status, 201);
  const Answer clash = yard.call("POST", std::string(services) + "?dryRun=All",
                                 R"({"metadata":{"name":"b"})" + taken);
  EXPECT_EQ(clash.status, 422) << clash.text;
  EXPECT_NE(message(clash).find("already allocated"), std::string::npos) << message(clash);
}

TEST_F(ServerTest, AnAppliedScaleOwnsTheReplicas) {
  const char* deployment = "/apis/apps/v1/namespaces/default/deployments/d";
  const Answer made = yard.call(
      "POST", "/apis/apps/v1/namespaces/default/deployments?fieldManager=maker",
      R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},)"
      R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string scale = std::string(deployment) + "/scale?fieldManager=scaler";
  const std::string three =
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":3}})";
  const Answer conflict = yard.patch(scale, three, "apply");
  EXPECT_EQ(conflict.status, 409) << conflict.text;
  EXPECT_NE(message(conflict).find("conflict with \"maker\""), std::string::npos);
  const Answer applied = yard.patch(scale + "&force=true", three, "apply");
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_EQ(text_at(applied.json, {"kind"}), "Scale");
  EXPECT_EQ(int_at(applied.json, {"spec", "replicas"}), 3);
  const Answer after = yard.call("GET", deployment);
  EXPECT_EQ(int_at(after.json, {"spec", "replicas"}), 3);
  EXPECT_NE(after.text.find(R"("manager":"scaler","operation":"Apply")"), std::string::npos)
      << after.text;
  EXPECT_NE(after.text.find(R"("subresource":"scale")"), std::string::npos) << after.text;
  EXPECT_EQ(yard.patch(scale, R"({"apiVersion":"v1","kind":"Pod"})", "apply").status, 400);
}

TEST_F(ServerTest, ASecondDeleteIsAnsweredWhenReadersSeeTheFirst) {
  ASSERT_EQ(create_map("m").status, 201);
  const auto first = yard.send("DELETE", map("m")), second = yard.send("DELETE", map("m"));
  ASSERT_TRUE(yard.loop.run_until([&] { return second->answered; }, std::chrono::minutes(1)));
  EXPECT_EQ(second->answer.status, 404);
  EXPECT_TRUE(first->answered);
  EXPECT_EQ(yard.store->get(Key{"configmaps", "default", "m"}), nullptr);
}

}  // namespace
}  // namespace yard
