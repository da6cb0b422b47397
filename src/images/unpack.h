#pragma once
// A layer's tar stream becomes a folder that overlayfs takes as one of its lower layers. Whatever
// the entries are called, nothing outside that folder is touched: the kernel itself resolves their
// paths with the folder as root.

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "images/tar.h"

namespace yard {

struct UnpackLimits {
  std::int64_t entries = 1'000'000;
  std::int64_t bytes = std::int64_t{256} << 30;
};

// What could not be kept, in numbers: said once, where the image is shown.
struct UnpackNotes {
  std::int64_t devices = 0;     // device nodes are left out: pods get theirs from the node
  std::int64_t owners = 0;      // an ordinary user cannot give files away
  std::int64_t attributes = 0;  // xattrs that are not ours to set
};

class LayerUnpacker : public TarSink {
 public:
  // `folder` exists and is empty. As an ordinary user all files belong to that user, whoever the
  // layer names; inside a user namespace that user is root.
  LayerUnpacker(const std::string& folder, const UnpackLimits& limits);

  Result<void> begin(const TarEntry& entry) override;
  Result<void> data(std::int64_t offset, std::string_view bytes) override;
  Result<void> end() override;
  // Modes and times of folders, which later entries would have changed again.
  Result<void> finish();

  const UnpackNotes& notes() const { return notes_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t entries() const { return entries_; }

 private:
  struct Folder {
    std::string path;
    std::uint32_t mode;
    std::int64_t seconds;
    std::int32_t nanoseconds;
  };
  struct Place {
    int folder = -1;  // of the entry; ours, kept until another is asked for
    std::string name;
  };
  Result<Place> place_of(const std::string& path, bool make);
  Result<void> make_parents(const std::string& path);
  Result<void> make_folder(const Place& place, const TarEntry& entry, const std::string& path);
  Result<void> make_file(const Place& place, const TarEntry& entry);
  Result<void> make_link(const Place& place, const TarEntry& entry);
  Result<void> make_hard_link(const Place& place, const TarEntry& entry);
  Result<void> make_whiteout(const Place& place);
  Result<void> hide_lower_folder(int folder_fd);
  // Whether what stood there was a whiteout of this very layer.
  Result<bool> clear(const Place& place);
  Result<void> set_owner(const Place& place, const TarEntry& entry);
  void set_attributes(int file, const TarEntry& entry);
  Error failure(std::string_view doing, std::string_view path) const;

  UnpackLimits limits_;
  bool is_root_, is_outermost_;
  Descriptor root_, parent_, file_;
  std::string parent_path_;
  TarEntry current_;
  std::vector<Folder> folders_;
  UnpackNotes notes_;
  std::int64_t entries_ = 0, bytes_ = 0;
};

// The path below the root: no leading `/` or `./`, no trailing `/`; an error for `..`.
Result<std::string> entry_path(std::string_view path);

// Removes a folder that layers were unpacked into, also where modes forbid it to its own owner.
Result<void> remove_tree(const std::string& folder);

}  // namespace yard
