#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/fake_connection.h"

namespace yard {
namespace {

const char* const kTable = R"({"columnDefinitions":[
  {"name":"Name","type":"string","format":"name","priority":0},{"name":"Status","type":"string","priority":0},
  {"name":"Restarts","type":"integer","priority":0},{"name":"Nominated Node","type":"string","priority":1}],
 "rows":[{"cells":["train-0","Running",0,"n1"],"object":{"metadata":{"namespace":"default"}}},
         {"cells":["훈련-작업","Pending",12,null],"object":{"metadata":{"namespace":"연구"}}},
         {"cells":["two\nlines","\u001b[31mred",1.5,""],"object":{"metadata":{"namespace":"x"}}}]})";

std::string shown(const TableLook& look, bool colour = false) {
  const Json table = json(kTable);
  return grid_text(
      table_grid(*find(table, "columnDefinitions"), find(table, "rows")->get_array(), look),
      {.indent = "", .colour = colour});
}

TEST(Table, Layouts) {
  struct Case {
    const char* about;
    TableLook look;
    const char* text;
  };
  const Case cases[] = {
      {"columns align by what is seen, one line a row, nothing of a cell reaches the terminal raw",
       {},
       "NAME        STATUS      RESTARTS\n"
       "train-0     Running     0\n"
       "훈련-작업   Pending     12\n"
       "two...      ^[[31mred   1.5\n"},
      {"wide shows the columns of a lower rank",
       {.is_wide = true, .name_prefix = ""},
       "NAME        STATUS      RESTARTS   NOMINATED NODE\n"
       "train-0     Running     0          n1\n"
       "훈련-작업   Pending     12         <none>\n"
       "two...      ^[[31mred   1.5\n"},
      {"over all namespaces the namespace comes first",
       {.with_namespace = true, .with_header = false, .name_prefix = ""},
       "default   train-0     Running     0\n"
       "연구      훈련-작업   Pending     12\n"
       "x         two...      ^[[31mred   1.5\n"},
      {"among several types a name carries its own",
       {.with_header = false, .name_prefix = "pod/"},
       "pod/train-0     Running     0\n"
       "pod/훈련-작업   Pending     12\n"
       "pod/two...      ^[[31mred   1.5\n"},
  };
  for (const Case& each : cases)
    EXPECT_EQ(shown(each.look), each.text) << each.about;
}

TEST(Table, ColoursChangeNoWidth) {
  EXPECT_TRUE(shown({}, true).starts_with(
      "\033[1mNAME\033[0m        \033[1mSTATUS\033[0m      \033[1mRESTARTS\033[0m\n"));
  EXPECT_NE(shown({}, true).find("train-0     \033[32mRunning\033[0m     0\n"), std::string::npos)
      << shown({}, true);
}

TEST(Table, AWatchKeepsItsColumns) {
  std::vector<int> widths;
  EXPECT_EQ(grid_text({{"NAME", "AGE"}, {{"a-long-name", "1s"}}}, {}, widths),
            "NAME          AGE\na-long-name   1s\n");
  EXPECT_EQ(grid_text({{}, {{"b", "2s"}}}, {}, widths), "b             2s\n");
}

TEST(Table, BrokenTablesAreShownAsFarAsTheyGo) {
  EXPECT_EQ(grid_text(table_grid(Json(), JsonArray{Json(1)}, {})), "\n");
  EXPECT_EQ(grid_text(table_grid(json(R"([{"name":"Name"},7])"),
                                 json(R"([{"cells":["a"]},{"cells":7}])").get_array(), {})),
            "NAME\na\n\n");
}

}  // namespace
}  // namespace yard
