// The small pure parts: warnings, queries, metrics, kubeconfigs, completion.

#include <gtest/gtest.h>

#include "cli/completion.h"
#include "cli/fake_connection.h"
#include "cli/info.h"
#include "cli/kubeconfig.h"

namespace yard {
namespace {

TEST(Requests, WarningsInHeaders) {
  struct Case {
    const char* about;
    const char* header;
    std::vector<std::string> texts;
  };
  const Case cases[] = {
      {"one", R"(299 - "unknown field \"spec.x\"")", {"unknown field \"spec.x\""}},
      {"two in one header", R"(299 - "a", 299 - "b")", {"a", "b"}},
      {"a quote that never ends", R"(299 - "a)", {}},
      {"none", "", {}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(warning_texts(each.header), each.texts) << each.about;
}

TEST(Requests, RefusalsInTheServersWords) {
  struct Case {
    const char* about;
    Reply reply;
    const char* message;
    int exit_code;
  };
  const Case cases[] = {
      {"a Status",
       {404, {}, R"({"kind":"Status","reason":"NotFound","message":"pods \"x\" not found"})"},
       "Error from server (NotFound): pods \"x\" not found",
       kNotFound},
      {"a page of something else",
       {502, {}, "<html>\n"},
       "Error from server (HTTP 502): <html>",
       kFailed},
      {"an empty answer",
       {500, {}, ""},
       "Error from server (HTTP 500): no reason was given",
       kFailed},
  };
  for (const Case& each : cases) {
    FakeSession fake;
    const Error failure = server_error(each.reply);
    EXPECT_EQ(failure.message, each.message) << each.about;
    EXPECT_EQ(print_failure(fake.terminal, failure), each.exit_code) << each.about;
    EXPECT_EQ(fake.err.str(), each.message + std::string("\n")) << each.about;
  }
}

TEST(Requests, AWarningIsSaidOnce) {
  FakeSession fake;
  fake.connection.replies["GET /x"] = {200, {{"warning", "299 - \"old \033[31m\""}}, "{}"};
  ASSERT_TRUE(fake.session.get("/x").has_value());
  ASSERT_TRUE(fake.session.get("/x").has_value());
  EXPECT_EQ(fake.err.str(), "Warning: old ^[[31m\n");
}

TEST(Requests, QueriesAreEscaped) {
  EXPECT_EQ(query_text({{"a", "x=1,y in (b)"}, {"none", ""}, {"limit", "5"}}),
            "?a=x%3D1%2Cy%20in%20%28b%29&limit=5");
  EXPECT_EQ(query_text({}), "");
}

TEST(Info, Metrics) {
  const std::string_view metrics =
      "# TYPE a gauge\na_total 1\na 42\nb{x=\"1\"} 3\nc nonsense\nbig 1.5e+06\n";
  EXPECT_EQ(metric_value(metrics, "a"), 42);
  EXPECT_EQ(metric_value(metrics, "big"), 1500000);
  EXPECT_EQ(metric_value(metrics, "b"), std::nullopt);
  EXPECT_EQ(metric_value(metrics, "c"), std::nullopt);
}

TEST(Info, UpAndDown) {
  InfoFacts facts{.version = "trainyard 1",
                  .build = "GCC",
                  .state_folder = "/s",
                  .pid = 7,
                  .url = "https://127.0.0.1:1",
                  .uptime = std::chrono::minutes(5),
                  .metrics =
                      "process_resident_memory_bytes 10485760\ntrainyard_store_objects 3\n"
                      "trainyard_store_revision 12345678\n",
                  .store_files = {{"store.db", 4096}, {"store.db-wal", 12}},
                  .degradations = {}};
  EXPECT_EQ(info_text(facts),
            "version       trainyard 1\nbuild         GCC\nstate folder  /s\n"
            "server        https://127.0.0.1:1 (pid 7)\nuptime        5m\nmemory        10.0 MiB\n"
            "objects       3\nrevision      12345678\nstore         store.db (4.0 KiB)\n"
            "              store.db-wal (12 B)\n");
  facts.pid = 0;
  facts.store_files.clear();
  facts.degradations = {"no cgroups: memory limits are not held"};
  EXPECT_EQ(info_text(facts),
            "version       trainyard 1\nbuild         GCC\nstate folder  /s\n"
            "server        down; start it with `trainyard up`\n"
            "degraded      no cgroups: memory limits are not held\n");
}

const char* const kOurs = R"({"apiVersion":"v1","kind":"Config","current-context":"trainyard",
  "clusters":[{"name":"trainyard","cluster":{"server":"https://127.0.0.1:2"}}],
  "users":[{"name":"trainyard-admin","user":{"token":"t"}}],
  "contexts":[{"name":"trainyard","context":{"cluster":"trainyard","user":"trainyard-admin"}}]})";

TEST(Kubeconfig, Merges) {
  struct Case {
    const char* about;
    const char* existing;
    const char* clusters;  // the merged list; "" when refused
    bool is_changed, is_replaced;
    const char* previous;
  };
  const Case cases[] = {
      {"a file not there yet", "null",
       R"([{"name":"trainyard","cluster":{"server":"https://127.0.0.1:2"}}])", true, false, ""},
      {"other clusters stay",
       R"({"current-context":"work","clusters":[{"name":"work"}],"preferences":{"a":1}})",
       R"([{"name":"work"},{"name":"trainyard","cluster":{"server":"https://127.0.0.1:2"}}])", true,
       false, "work"},
      {"an older one of ours gives way",
       R"({"clusters":[{"name":"trainyard","cluster":{"server":"https://old"}},{"name":"z"}]})",
       R"([{"name":"trainyard","cluster":{"server":"https://127.0.0.1:2"}},{"name":"z"}])", true,
       true, ""},
      {"lists written as null, as kubectl does",
       R"({"clusters":null,"users":null,"contexts":null})",
       R"([{"name":"trainyard","cluster":{"server":"https://127.0.0.1:2"}}])", true, false, ""},
      {"already there", kOurs,
       R"([{"name":"trainyard","cluster":{"server":"https://127.0.0.1:2"}}])", false, false,
       "trainyard"},
      {"clusters that are no list", R"({"clusters":{"a":1}})", "", false, false, ""},
      {"no mapping", "[1]", "", false, false, ""},
      {"another kind of object", R"({"kind":"Pod"})", "", false, false, ""},
  };
  for (const Case& each : cases) {
    const Json existing = json(each.existing);
    const auto merged = merged_kubeconfig(existing, json(kOurs));
    ASSERT_EQ(merged.has_value(), *each.clusters != '\0') << each.about;
    if (!merged) continue;
    EXPECT_EQ(to_text(*find(merged->config, "clusters")), each.clusters) << each.about;
    EXPECT_EQ(merged->is_changed, each.is_changed) << each.about;
    EXPECT_EQ(merged->is_replaced, each.is_replaced) << each.about;
    EXPECT_EQ(merged->previous_context, each.previous) << each.about;
    EXPECT_EQ(text_at(merged->config, {"current-context"}), "trainyard") << each.about;
    EXPECT_EQ(find(existing, "preferences") != nullptr,
              find(merged->config, "preferences") != nullptr)
        << each.about;
  }
}

const ProgramWords kProgram{
    "yard",
    {{{"--help"}, "Help [now]", false, {}}},
    {{"get",
      "Show it's objects",
      {{{"-o", "--output"}, "how: to print", true, {"json", "yaml"}}, {{"-f"}, "file", true, {}}},
      {}},
     {"completion", "Script", {}, {"bash", "zsh"}}}};

TEST(Completion, Bash) {
  EXPECT_EQ(*completion_script(kProgram, "bash"),
            "# yard in bash; load it with: source <(yard completion bash)\n"
            "_yard() {\n"
            "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" "
            "command=\"\" i\n"
            "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
            "    case \"${COMP_WORDS[i]}\" in\n"
            "    get|completion) command=\"${COMP_WORDS[i]}\"; break ;;\n"
            "    esac\n"
            "  done\n"
            "  COMPREPLY=()\n"
            "  case \"$command $previous\" in\n"
            "    \"get -o\"|\"get --output\") COMPREPLY=($(compgen -W \"json yaml\" -- "
            "\"$word\")); return ;;\n"
            "    \"get -f\") return ;;\n"
            "  esac\n"
            "  case \"$command\" in\n"
            "    \"\") COMPREPLY=($(compgen -W \"get completion --help\" -- \"$word\")) ;;\n"
            "    get) COMPREPLY=($(compgen -W \"-o --output -f\" -- \"$word\")) ;;\n"
            "    completion) COMPREPLY=($(compgen -W \"bash zsh \" -- \"$word\")) ;;\n"
            "  esac\n"
            "}\n"
            "complete -o default -F _yard yard\n");
}

TEST(Completion, ZshAndFish) {
  const std::string zsh = *completion_script(kProgram, "zsh");
  for (const char* line : {"    'get:Show its objects'\n", "'--help[Help \\[now\\]]'",
                           "'(-o --output)'{-o,--output}'[how\\: to print]:value:(json yaml)'",
                           "'-f[file]:value:_files'", "'1:argument:(bash zsh)'"}) {
    EXPECT_NE(zsh.find(line), std::string::npos) << line << "\n" << zsh;
  }
  const std::string fish = *completion_script(kProgram, "fish");
  for (const char* line :
       {"complete -c yard -f -n __fish_use_subcommand -a get -d 'Show its objects'\n",
        "complete -c yard -n '__fish_seen_subcommand_from get' -s o -l output -xa 'json yaml' -d "
        "'how: to print'\n",
        "complete -c yard -n '__fish_seen_subcommand_from get' -s f -r -d 'file'\n"}) {
    EXPECT_NE(fish.find(line), std::string::npos) << line << "\n" << fish;
  }
  EXPECT_FALSE(completion_script(kProgram, "tcsh").has_value());
}

}  // namespace
}  // namespace yard
