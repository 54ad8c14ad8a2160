// Tests of errors: the text for each front end, the fields, and the fields that code adds when it rethrows an error.
#include "gradus/error.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/error_parcel.hpp"
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

TEST(Errors, TextsAreAboutArgumentsOrPartsOfThem) {
  const UsageError error(about("edges: from") + "5 elements");
  EXPECT_STREQ(error.what(), "edges: from: 5 elements");
  EXPECT_EQ(error.fields().argument, "edges");
  EXPECT_EQ(error.message().subject, "edges");
  EXPECT_EQ(UsageError(about("--box-origin") + "x").fields().argument, "box_origin");
  EXPECT_EQ(UsageError("x", {.argument = "seed"}).fields().argument, "seed");
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

template <class SomeError>
SomeError after_the_way(const std::exception_ptr& error) {
  try {
    core::throw_parcel(core::parcel_of(error), 2, 4);
  } catch (const SomeError& caught) {
    return caught;
  }
}

TEST(Errors, ReachOtherRanksWhole) {
  const auto error = after_the_way<InputError>(std::make_exception_ptr(outside()));
  EXPECT_EQ(error.what(), std::string("rank 2 of 4: ") + outside().what());
  EXPECT_EQ(error.text(spelled), "rank 2 of 4: " + outside().text(spelled));
  EXPECT_EQ(error.code(), "outside_box");
  EXPECT_EQ(error.fields().argument, "other_weights");
  EXPECT_EQ(error.fields().row, 3);
  EXPECT_FALSE(error.fields().byte);
  EXPECT_EQ(error.fields().allowed, "0 to 5");
  EXPECT_EQ(error.fields().rank, 2);
  // The error keeps the rank on which it occurred.
  EXPECT_EQ(after_the_way<UsageError>(std::make_exception_ptr(UsageError("x", {.rank = 1, .ranks = 4}))).fields().rank,
            1);
  EXPECT_STREQ(after_the_way<OutOfMemoryError>(std::make_exception_ptr(std::bad_alloc())).what(),
               "rank 2 of 4: the system has no memory left for the job");
  EXPECT_STREQ(after_the_way<Error>(std::make_exception_ptr(std::logic_error("y"))).what(), "rank 2 of 4: y");
  EXPECT_STREQ(after_the_way<InterruptedError>(std::make_exception_ptr(InterruptedError("stopped"))).what(),
               "rank 2 of 4: stopped");
}

}  // namespace
}  // namespace gradus
