// The named rules of Life. Texts may use their names, and kernels are compiled for them. All other rules are written as
// two lists (B and S) and use a general network.
#pragma once

#include "gradus/life.hpp"

namespace gradus::life_detail {

struct NamedLifeRule {
  const char* name;
  LifeRule rule;
};

inline constexpr NamedLifeRule named_life_rules[] = {
    {"Life", {1 << 3, 1 << 2 | 1 << 3}},
    {"HighLife", {1 << 3 | 1 << 6, 1 << 2 | 1 << 3}},
    {"Seeds", {1 << 2, 0}},
    {"Day & Night", {1 << 3 | 7 << 6, 3 << 3 | 7 << 6}},
    {"Replicator", {0xAA, 0xAA}},
    {"Life without Death", {1 << 3, 511}},
    {"Maze", {1 << 3, 31 << 1}},
    {"Diamoeba", {1 << 3 | 15 << 5, 15 << 5}},
    {"2x2", {1 << 3 | 1 << 6, 1 << 1 | 1 << 2 | 1 << 5}},
    {"Morley", {1 << 3 | 1 << 6 | 1 << 8, 1 << 2 | 1 << 4 | 1 << 5}},
    {"Anneal", {1 << 4 | 7 << 6, 1 << 3 | 15 << 5}},
    {"DryLife", {1 << 3 | 1 << 7, 1 << 2 | 1 << 3}},
};

}  // namespace gradus::life_detail
