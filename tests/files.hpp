// Shared parts of the tests of readers and writers: a temporary folder, file contents, and error messages.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gradus/error.hpp"

namespace gradus::tests {

/// A test with a private folder, which is removed after the test.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gradus-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    directory_ = pattern;
    std::filesystem::permissions(directory_, std::filesystem::perms(0755));
  }
  ~FolderTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string put(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    return path(name);
  }
  std::vector<std::string> listing(const std::string& below = "") const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / below))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path directory_;
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Calls `act` and returns the message of the error that it throws. The test fails if nothing is thrown, or if the
/// error is not of type Expected.
template <class Expected>
std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_NE(dynamic_cast<const Expected*>(&error), nullptr) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" does not contain \"" << part << "\"";
}

}  // namespace gradus::tests
