#pragma once
// The folder everything of one control plane lives in: credentials, store, sockets, pid. 0700,
// files 0600.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace yard {

class StateFolder {
 public:
  // --state, else TRAINYARD_STATE, else $XDG_STATE_HOME/trainyard, else ~/.local/state/trainyard.
  static Result<StateFolder> locate(const std::string& given);

  Result<void> make() const;  // creates it; a sentence when it cannot be written
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string kubeconfig() const { return file("kubeconfig"); }
  std::string socket() const { return file("api.sock"); }
  std::string store() const { return file("store.db"); }
  std::string log() const { return file("server.log"); }

  std::optional<std::string> read(std::string_view name) const;
  // Whole or not at all: written aside, synced, renamed. 0600.
  Result<void> write(std::string_view name, std::string_view content) const;
  void remove(std::string_view name) const;

  // The server of this folder holds a lock as long as it lives. Answers false when another has it.
  Result<bool> take_lock();
  // The pid of the server that holds the lock; 0 when none runs.
  int running_pid() const;

 private:
  explicit StateFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace yard
