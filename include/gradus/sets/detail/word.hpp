/// The word of a link: the address of the next node, and in the lowest bit the mark of the node that contains the link.
/// A marked node is removed from the set, even if a link still points to it. Because mark and address share a word, a
/// single load reads both, and a single comparison checks that neither has changed.
#pragma once

#include <cstdint>

namespace gradus::sets_detail {

using word = std::uintptr_t;
inline constexpr word mark = 1;

constexpr bool is_marked(word link) { return (link & mark) != 0; }
constexpr word without_mark(word link) { return link & ~mark; }

/// Returns the node, ignoring the mark; null at the end of the list.
template <class Node>
Node* node_at(word link) {
  return reinterpret_cast<Node*>(without_mark(link));  // NOLINT(performance-no-int-to-ptr): the mark needs an integer
}
/// Returns the word of a node or of null.
template <class Node>
word word_of(Node* node) {
  return reinterpret_cast<word>(node);
}

}  // namespace gradus::sets_detail
