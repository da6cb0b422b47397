#pragma once
// Answers to questions that are dear to ask (a look at the disk) and may be a moment old.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"

namespace yard {

class RecentAnswers {
 public:
  RecentAnswers(Duration kept, size_t most) : kept_(kept), most_(most) {}

  bool ask(std::string_view about, Time now, const std::function<bool()>& find_out) {
    const auto known = answers_.find(about);
    const bool is_fresh =
        known != answers_.end() && now >= known->second.at && now - known->second.at < kept_;
    if (is_fresh) return known->second.answer;
    if (known == answers_.end() && answers_.size() >= most_) answers_.clear();
    const bool answer = find_out();
    answers_.insert_or_assign(std::string(about), Answer{now, answer});
    return answer;
  }

 private:
  struct Answer {
    Time at;
    bool answer;
  };

  Duration kept_;
  size_t most_;
  std::map<std::string, Answer, std::less<>> answers_;
};

}  // namespace yard
