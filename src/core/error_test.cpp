// Errors in pieces: texts of each front end, fields, and what layers on the way add.
#include "gradus/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "gradus/graph.hpp"

namespace gradus {
namespace {

template <class SomeError>
constexpr bool copies_do_not_throw =
    std::is_nothrow_copy_constructible_v<SomeError>&& std::is_nothrow_copy_assignable_v<SomeError>;
static_assert(copies_do_not_throw<Error> && copies_do_not_throw<UsageError> && copies_do_not_throw<VertexError>);

std::string spelled(const OptionReference& option) {
  constexpr const char* kinds[] = {"none", "flag", "number", "text"};
  return "<" + option.name + "|" + option.value + "|" + kinds[static_cast<int>(option.kind)] + ">";
}

InputError outside() {
  return InputError(about("other weights") + "row 3 is outside",
                    {.code = error_code::outside_box,
                     .row = 3,
                     .value = "7",
                     .allowed = "0 to 5",
                     .remedy = flag("ToyOptions::fold") + " moves it in, " + option("ToyOptions::empty", "keep") +
                               " keeps it, " + option("ToyOptions::least", 4) + " and " + option("ToyOptions::box")});
}

TEST(Errors, PlainTextsHaveTheCodeOfTheirClass) {
  EXPECT_STREQ(Error("the disk is full").what(), "the disk is full");
  EXPECT_EQ(Error("x").code(), "failed");
  EXPECT_EQ(UsageError("x").code(), "bad_argument");
  EXPECT_EQ(InputError(std::string("x")).code(), "bad_input");
  EXPECT_EQ(UnsupportedError("x").code(), "not_supported");
  EXPECT_EQ(OutOfMemoryError("x").code(), "out_of_memory");
  EXPECT_EQ(VerificationError("x").code(), "wrong_result");
  EXPECT_EQ(InterruptedError("x").code(), "interrupted");
  EXPECT_TRUE(Error("x").fields().argument.empty());
}

TEST(Errors, EachFrontEndSpellsOptions) {
  const InputError error = outside();
  EXPECT_STREQ(error.what(),
               "other weights: row 3 is outside; ToyOptions::fold moves it in, ToyOptions::empty = keep keeps it, "
               "ToyOptions::least = 4 and ToyOptions::box");
  EXPECT_EQ(
      error.text(spelled),
      "other weights: row 3 is outside; <ToyOptions::fold||flag> moves it in, <ToyOptions::empty|keep|text> keeps "
      "it, <ToyOptions::least|4|number> and <ToyOptions::box||none>");
  EXPECT_EQ(error.code(), "outside_box");
  EXPECT_EQ(error.fields().argument, "other_weights");
  EXPECT_EQ(error.fields().row, 3);
  EXPECT_FALSE(error.fields().column);
}

TEST(Errors, LayersOnTheWayAddWhatTheyKnow) {
  InputError error = outside();
  const InputError before = error;
  ErrorFields fields = error.fields();
  fields.file = "w.csv";
  fields.remedy = "move it";
  fields.context = " (in frame 2)";
  fields.rank = 1;
  fields.ranks = 4;
  error.set_fields(fields);
  ErrorMessage message = error.message();
  message.subject = "'w.csv'";
  error.set_message(message);
  EXPECT_STREQ(error.what(), "rank 1 of 4: 'w.csv': row 3 is outside; move it (in frame 2)");
  EXPECT_EQ(error.fields().argument, "other_weights");
  EXPECT_STREQ(before.what(), outside().what());
}

TEST(Errors, VerticesGetOtherNames) {
  const auto letter = [](std::int32_t vertex) { return std::string(1, static_cast<char>('a' + vertex)); };
  VertexError error(about("weights") + "a cycle, ", {2, 0, 2}, " -> ", ", of length -1", {.remedy = "remove it"});
  EXPECT_STREQ(error.what(), "weights: a cycle, 2 -> 0 -> 2 (vertices counted from 0), of length -1; remove it");
  EXPECT_EQ(error.message_with(letter), "weights: a cycle, c -> a -> c, of length -1; remove it");
  EXPECT_EQ(error.vertices(), (std::vector<std::int32_t>{2, 0, 2}));
  error.name_vertices(letter);
  EXPECT_STREQ(error.what(), "weights: a cycle, c -> a -> c, of length -1; remove it");
  EXPECT_TRUE(error.vertices().empty());
}

}  // namespace
}  // namespace gradus
