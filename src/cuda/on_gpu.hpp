// For tests alone: the fixture of those that need a GPU. Without one they say why and are skipped.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cpu/machine.hpp"
#include "cuda/devices.hpp"

namespace gradus {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = cuda::why_no_gpu(cpu::this_machine()); !reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace gradus
