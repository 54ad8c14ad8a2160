/// The word of a link: the address of the next node, and in its lowest bit the mark of the node that the link is in. A
/// marked node is removed from the set, whether or not a link still leads to it. Since mark and address are one word,
/// one load tells both, and one comparison tells that neither has changed.
#pragma once

#include <cstdint>

namespace gradus::sets_detail {

using word = std::uintptr_t;
inline constexpr word mark = 1;

constexpr bool is_marked(word link) { return (link & mark) != 0; }
constexpr word without_mark(word link) { return link & ~mark; }

/// The node, whether or not the word is marked; null at the end of the list.
template <class Node>
Node* node_at(word link) {
  return reinterpret_cast<Node*>(without_mark(link));  // NOLINT(performance-no-int-to-ptr): there the mark is
}
/// Of a node, or of null.
template <class Node>
word word_of(Node* node) {
  return reinterpret_cast<word>(node);
}

}  // namespace gradus::sets_detail
