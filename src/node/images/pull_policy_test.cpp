#include "node/images/pull_policy.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "node/images/driver_files.h"
#include "node/images/unpacked_image.h"

namespace yard {
namespace {

TEST(PullNeed, FollowsThePolicy) {
  struct Row {
    const char* sentence;
    PullFacts facts;
    PullNeed need;
  };
  using enum ImageOrigin;
  const PullNeed nothing{}, registry{false, true}, stores{true, false}, both{true, true};
  const Row rows[] = {
      {"an absent image is pulled", {"IfNotPresent", false, Loaded, "", "", true}, registry},
      {"a present one is not", {"IfNotPresent", true, Registry, "a", "", true}, nothing},
      {"Always asks again", {"Always", true, Registry, "a", "", true}, registry},
      {"but once a start", {"Always", true, Registry, "a", "", true, true}, nothing},
      {"and not for what was loaded by hand", {"Always", true, Loaded, "a", "", true}, nothing},
      {"Never never does", {"Never", false, Loaded, "", "", true}, nothing},
      {"without a registry nobody is asked", {"Always", false, Loaded, "", "", false}, nothing},
      {"what podman has is taken", {"IfNotPresent", false, Loaded, "", "a", false}, stores},
      {"before a registry is asked", {"IfNotPresent", false, Loaded, "", "a", true}, both},
      {"also with Never: it is on this machine", {"Never", false, Loaded, "", "a", true}, stores},
      {"but Always is the registry's word", {"Always", false, Loaded, "", "a", true}, registry},
      {"where there is one", {"Always", false, Loaded, "", "a", false}, stores},
      {"it is taken once", {"IfNotPresent", true, LocalStore, "a", "a", false}, nothing},
      {"and again when it was built anew",
       {"IfNotPresent", true, LocalStore, "a", "b", false},
       stores},
      {"what was loaded by hand stays", {"IfNotPresent", true, Loaded, "a", "b", false}, nothing},
      {"as does what was pulled", {"IfNotPresent", true, Registry, "a", "b", true}, nothing},
  };
  for (const Row& row : rows)
    EXPECT_EQ(pull_need(row.facts), row.need) << row.sentence;
}

TEST(PullBackOff, DoublesUpToFiveMinutes) {
  const int seconds[] = {10, 20, 40, 80, 160, 300, 300};
  for (int failures = 1; failures <= 7; ++failures)
    EXPECT_EQ(pull_back_off(failures), std::chrono::seconds(seconds[failures - 1])) << failures;
}

TEST(PullWords, AreKubelets) {
  using std::chrono::milliseconds;
  EXPECT_EQ(go_duration(milliseconds(12)), "12ms");
  EXPECT_EQ(go_duration(milliseconds(1200)), "1.2s");
  EXPECT_EQ(go_duration(milliseconds(61'005)), "1m1.005s");
  EXPECT_EQ(pull_success("i", {milliseconds(5), milliseconds(2000)}, 7),
            "Successfully pulled image \"i\" in 5ms (2s including waiting). Image size: 7 bytes.");
}

TEST(ImageIdentity, IsTheYamlsThenTheImages) {
  UnpackedImage image;
  image.users =
      parse_users("root:x:0:0::/root:/bin/sh\napp:x:100:200::/home/app:/bin/sh\nbroken\n");
  image.groups = parse_groups("root:x:0:\nextra:x:300:app,other\nteam:x:400:\n");
  struct Row {
    const char* sentence;
    const char* user;
    AskedIdentity asked;
    const char* answer;  // uid:gid[+groups] home, or the problem
  };
  const Row rows[] = {
      {"nothing said is root", "", {}, "0:0 /root"},
      {"a name", "app", {}, "100:200+300 /home/app"},
      {"a number with an entry", "100", {}, "100:200+300 /home/app"},
      {"a number without", "555", {}, "555:0 /"},
      {"a named group stands alone", "app:team", {}, "100:400 /home/app"},
      {"numbers", "5:6", {}, "5:6 /"},
      {"the YAML's user", "app", {7, std::nullopt}, "7:0 /"},
      {"the YAML's group", "app", {std::nullopt, 9}, "100:9+300 /home/app"},
      {"nobody of that name",
       "ghost",
       {},
       "unable to find user ghost: no matching entries in passwd file"},
      {"no such group",
       "app:ghosts",
       {},
       "unable to find group ghosts: no matching entries in group file"},
  };
  for (const Row& row : rows) {
    image.user = row.user;
    const auto identity = image_identity(image, row.asked);
    std::string answer = identity
                             ? std::to_string(identity->uid) + ":" + std::to_string(identity->gid)
                             : identity.error().message;
    if (identity) {
      for (const std::int64_t group : identity->groups)
        answer += "+" + std::to_string(group);
      answer += " " + identity->home;
    }
    EXPECT_EQ(answer, row.answer) << row.sentence;
  }
}

TEST(DriverFiles, AreTheDriversAndNothingElse) {
  char folder[] = "/tmp/images-driver-XXXXXX";
  const std::string root = ::mkdtemp(folder);
  for (const char* name : {"libcuda.so.550.1", "libnvidia-ml.so.550.1", "libnvidia-glcore.so.550.1",
                           "libcudart.so.12", "nvidia-smi"})
    std::ofstream(root + "/" + name) << "x";
  std::filesystem::create_symlink("libcuda.so.550.1", root + "/libcuda.so.1");
  std::vector<std::string> targets;
  for (const DriverFile& file : driver_files_in({root}, {root}))
    targets.push_back(file.target);
  EXPECT_EQ(targets,
            (std::vector<std::string>{"/usr/bin/nvidia-smi", "/usr/local/nvidia/lib64/libcuda.so.1",
                                      "/usr/local/nvidia/lib64/libcuda.so.550.1",
                                      "/usr/local/nvidia/lib64/libnvidia-ml.so.550.1"}));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace yard
