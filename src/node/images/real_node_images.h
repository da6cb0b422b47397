#pragma once
// The images of the state folder, and pulls by processes of our own: hostile bytes, their memory
// and slow registries stay outside the server.

#include <deque>
#include <memory>
#include <set>

#include "base/descriptor.h"
#include "base/loop.h"
#include "images/local_stores.h"
#include "node/images/node_images.h"

namespace yard {

// How a pull is carried out: the program and its words, and how registries are reached.
struct PullerOptions {
  std::string state_folder;
  std::vector<std::string> command;  // the worker; it reads an order and writes lines of JSON
  ImageConfig config;
};

class RealNodeImages : public NodeImages {
 public:
  RealNodeImages(Loop& loop, PullerOptions options);
  ~RealNodeImages() override;  // ends the workers

  const ImageEntry* find(std::string_view image) override { return catalog_.find(image); }
  std::vector<ImageCatalog::Listed> list() override { return catalog_.list(); }
  std::uint64_t version() override { return catalog_.version(); }
  void touch(std::string_view image) override { catalog_.touch(image); }
  bool asks_registry(std::string_view image, bool has_secrets) const override;
  std::string local_id(std::string_view image) override;
  void pull(PullOrder order, PullListener listener) override;

 private:
  struct Job {
    PullOrder order;
    std::vector<PullListener> listeners;
    Time asked{}, began{};
    Descriptor output;
    int pid = 0;
    std::string text;  // lines that came and are not read yet
    std::string problem;
    std::int64_t bytes = -1;  // of the image, once it is here
    bool was_local = false;
  };
  void begin_waiting();
  Result<void> spawn(Job& job);
  void on_readable(const std::string& key);
  void read_line(Job& job, std::string_view line);
  void finish(const std::string& key);

  Loop& loop_;
  PullerOptions options_;
  ImageCatalog catalog_;
  LocalStores stores_;
  std::set<std::string> unreadable_;  // ids of local images that cannot be read
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  std::deque<std::string> waiting_;
  int running_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace yard
