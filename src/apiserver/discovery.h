#pragma once
// Discovery, legacy and aggregated, and OpenAPI, all derived from the table of kinds. Documents are
// made when first asked for and kept as long as their table is the served one. Any thread.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "apiserver/kind_table.h"
#include "net/http.h"

namespace yard {

class Discovery {
 public:
  Discovery(KindTablePtr table, std::string server_address);
  // nullopt when the path is none of discovery's: /api, /apis, /apis/{group}, /api/v1,
  // /apis/{group}/{version}, /openapi/v2, /openapi/v3 and below.
  std::optional<HttpResponse> answer(const HttpRequest& request) const;
  const KindTablePtr& table() const { return table_; }

 private:
  struct Document {
    SharedBytes bytes;
    std::string etag;  // quoted
  };
  Document document(const std::string& name, const std::function<std::string()>& make) const;
  std::optional<HttpResponse> legacy(std::string_view path) const;
  std::optional<HttpResponse> openapi(const HttpRequest& request, std::string_view path) const;
  std::string openapi_index() const;
  Document openapi_v2(bool as_json) const;
  Document openapi_group_version(const KindTable::GroupVersion& entry) const;

  KindTablePtr table_;
  std::string server_address_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Document> documents_;
};

}  // namespace yard
