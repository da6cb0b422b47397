#include "cli/get.h"

#include <fmt/format.h>

#include "cli/resources.h"
#include "cli/table.h"
#include "json/yaml.h"

namespace yard {
namespace {

constexpr std::string_view kPageSize = "500";

struct Wanted {
  ResourceType type;
  std::vector<std::string> names;  // empty: all
};

// The answers of one type, merged: pages of a list, or one answer a name.
struct Found {
  Json columns;     // of a Table
  JsonArray items;  // rows of a Table, or objects
  std::string resource_version;
};

JsonArray take_array(Json& parent, std::string_view key) {
  Json* list = find(parent, key);
  return list != nullptr && list->is_array() ? std::move(list->get_array()) : JsonArray();
}

class Getter {
 public:
  Getter(Session& session, const GetOptions& options) : session_(session), options_(options) {}

  int run() {
    auto wanted = resolve();
    if (!wanted) return print_failure(session_.terminal(), wanted.error());
    if (options_.watch && wanted->size() != 1) {
      return print_failure(session_.terminal(),
                           error(Reason::BadRequest, "-w watches one type at a time"));
    }
    if (!is_table()) return show_objects(*wanted);
    return show_tables(*wanted);
  }

 private:
  bool is_table() const { return options_.output.empty() || options_.output == "wide"; }
  std::string_view accept() const { return is_table() ? kTableType : kJsonType; }

  Result<std::vector<Wanted>> resolve() {
    const std::vector<ResourceSelection> selected = TRY(selections(options_.words));
    const std::vector<ResourceType> types = TRY(discover(session_));
    std::vector<Wanted> wanted;
    for (const ResourceSelection& selection : selected) {
      std::vector<ResourceType> meant = TRY(types_named(types, selection.types));
      for (ResourceType& type : meant) {
        wanted.push_back({std::move(type), selection.names});
      }
      if (options_.all_namespaces && !selection.names.empty()) {
        return error(Reason::BadRequest, "a name is of one namespace: leave -A or the name out");
      }
    }
    return wanted;
  }

  std::string name_space() const { return options_.all_namespaces ? "" : options_.name_space; }

  void note(const Error& failure) {
    if (options_.ignore_not_found && failure.reason == Reason::NotFound) return;
    const int code = print_failure(session_.terminal(), failure);
    if (exit_code_ == kOk) exit_code_ = code;
  }

  Result<Found> list(const ResourceType& type) {
    Found found;
    std::string next;
    do {
      Json page = TRY(session_.get(resource_path(type, {name_space(), ""}) +
                                       query_text({{"labelSelector", options_.label_selector},
                                                   {"fieldSelector", options_.field_selector},
                                                   {"limit", std::string(kPageSize)},
                                                   {"continue", next}}),
                                   accept()));
      next = text_at(page, {"metadata", "continue"});
      found.resource_version = text_at(page, {"metadata", "resourceVersion"});
      add(found, page, is_table() ? "rows" : "items", type);
    } while (!next.empty());
    return found;
  }

  void add(Found& found, Json& page, std::string_view key, const ResourceType& type) {
    if (Json* columns = find(page, "columnDefinitions");
        columns != nullptr && !found.columns.is_array()) {
      found.columns = std::move(*columns);
    }
    for (Json& item : take_array(page, key)) {
      // Items of a list need not repeat what the list says of them all.
      if (key == "items" && item.is_object()) {
        if (!item.get_object().contains("kind")) item.get_object()["kind"] = type.kind;
        if (!item.get_object().contains("apiVersion")) {
          item.get_object()["apiVersion"] = type.api_version();
        }
      }
      found.items.push_back(std::move(item));
    }
  }

  Result<Found> fetch(const Wanted& wanted) {
    if (wanted.names.empty()) return list(wanted.type);
    Found found;
    for (const std::string& name : wanted.names) {
      auto one = session_.get(resource_path(wanted.type, {name_space(), name}), accept());
      if (!one) {
        if (one.error().reason == Reason::ServiceUnavailable) return std::move(one).error();
        note(one.error());
        continue;
      }
      found.resource_version = text_at(*one, {"metadata", "resourceVersion"});
      if (is_table()) {
        add(found, *one, "rows", wanted.type);
      } else {
        found.items.push_back(std::move(*one));
      }
    }
    return found;
  }

  int show_tables(const std::vector<Wanted>& wanted) {
    bool is_first = true;
    for (const Wanted& each : wanted) {
      auto found = fetch(each);
      if (!found) {
        note(found.error());
        if (found.error().reason == Reason::ServiceUnavailable) break;
        continue;
      }
      std::vector<int> widths;
      const bool shows_several = wanted.size() > 1;
      if (!found->items.empty()) {
        if (!is_first) session_.terminal().out << "\n";
        print_rows(each.type, *found, shows_several, !options_.no_headers, widths);
        is_first = false;
      }
      if (options_.watch && exit_code_ == kOk) return watch(each, *found, widths);
    }
    if (is_first && exit_code_ == kOk) say_nothing_found(wanted);
    return exit_code_;
  }

  void print_rows(const ResourceType& type, const Found& found, bool with_type, bool with_header,
                  std::vector<int>& widths) {
    const TableLook look{.is_wide = options_.output == "wide",
                         .with_namespace = options_.all_namespaces && type.is_namespaced,
                         .with_header = with_header,
                         .name_prefix = with_type ? type.shown() + "/" : ""};
    session_.terminal().out << grid_text(table_grid(found.columns, found.items, look),
                                         {.indent = "", .colour = session_.terminal().colour},
                                         widths);
    session_.terminal().out.flush();
  }

  void say_nothing_found(const std::vector<Wanted>& wanted) {
    if (options_.watch || options_.ignore_not_found) return;
    bool is_namespaced = false;
    for (const Wanted& each : wanted)
      is_namespaced = is_namespaced || each.type.is_namespaced;
    if (options_.all_namespaces || !is_namespaced) {
      session_.terminal().err << "No resources found\n";
    } else {
      session_.terminal().err << fmt::format("No resources found in {} namespace.\n",
                                             options_.name_space);
    }
  }

  int show_objects(const std::vector<Wanted>& wanted) {
    JsonArray all;
    for (const Wanted& each : wanted) {
      auto found = fetch(each);
      if (!found) {
        note(found.error());
        continue;
      }
      if (options_.watch) {
        for (const Json& object : found->items)
          print_object(each.type, object);
        std::vector<int> no_widths;
        return exit_code_ == kOk ? watch(each, *found, no_widths) : exit_code_;
      }
      for (Json& object : found->items) {
        if (options_.output == "name") print_object(each.type, object);
        all.push_back(std::move(object));
      }
    }
    if (options_.output == "name") return exit_code_;
    const bool is_single = wanted.size() == 1 && wanted.front().names.size() == 1;
    if (is_single && all.empty()) return exit_code_;
    if (is_single) {
      print_tree(all.front());
    } else {
      print_tree(Json(JsonObject{{"apiVersion", "v1"},
                                 {"kind", "List"},
                                 {"metadata", JsonObject{{"resourceVersion", ""}}},
                                 {"items", std::move(all)}}));
    }
    return exit_code_;
  }

  void print_tree(const Json& tree) {
    if (options_.output == "yaml") {
      session_.terminal().out << to_yaml(tree);
    } else {
      std::string text = to_pretty_text(tree);
      if (!text.ends_with('\n')) text += '\n';
      session_.terminal().out << text;
    }
  }

  void print_object(const ResourceType& type, const Json& object) {
    if (options_.output == "name") {
      session_.terminal().out << type.shown() << "/" << text_at(object, {"metadata", "name"})
                              << "\n";
    } else {
      if (options_.output == "yaml" && printed_) session_.terminal().out << "---\n";
      print_tree(object);
      printed_ = true;
    }
    session_.terminal().out.flush();
  }

  // Ends with the connection or at a refusal; a server that ends the watch in peace is asked again.
  int watch(const Wanted& wanted, const Found& start, std::vector<int>& widths) {
    Found seen;
    seen.columns = start.columns;
    seen.resource_version = start.resource_version;
    std::string field_selector = options_.field_selector;
    if (wanted.names.size() == 1) {
      field_selector += (field_selector.empty() ? "" : ",") + ("metadata.name=" + wanted.names[0]);
    }
    bool needs_header = start.items.empty() && !options_.no_headers;
    while (true) {
      const std::string target = resource_path(wanted.type, {name_space(), ""}) +
                                 query_text({{"watch", "true"},
                                             {"resourceVersion", seen.resource_version},
                                             {"labelSelector", options_.label_selector},
                                             {"fieldSelector", field_selector},
                                             {"allowWatchBookmarks", "true"}});
      bool heard = false;
      auto watched = session_.watch(target, accept(), [&](const Json& event) {
        heard = true;
        show_event(wanted.type, event, seen, needs_header, widths);
        return true;
      });
      if (!watched) return print_failure(session_.terminal(), watched.error());
      if (!heard) return kOk;  // a watch that says nothing and ends would only spin
    }
  }

  void show_event(const ResourceType& type, const Json& event, Found& seen, bool& needs_header,
                  std::vector<int>& widths) {
    const Json* object = find(event, "object");
    if (object == nullptr) return;
    const std::string_view version = text_at(*object, {"metadata", "resourceVersion"});
    if (!version.empty()) seen.resource_version = version;
    if (text_at(event, {"type"}) == "BOOKMARK") return;
    if (!is_table()) {
      print_object(type, *object);
      return;
    }
    const Json* columns = find(*object, "columnDefinitions");
    if (columns != nullptr && columns->is_array() && !columns->get_array().empty()) {
      seen.columns = *columns;
    }
    const Json* rows = find(*object, "rows");
    if (rows == nullptr || !rows->is_array()) return;
    seen.items = rows->get_array();
    print_rows(type, seen, false, needs_header, widths);
    needs_header = false;
  }

  Session& session_;
  const GetOptions& options_;
  int exit_code_ = kOk;
  bool printed_ = false;
};

}  // namespace

int run_get(Session& session, const GetOptions& options) {
  return Getter(session, options).run();
}

}  // namespace yard
