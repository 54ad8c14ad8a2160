// Groups the points by their nearest chosen row and stores the squared distances, for k-means++ and k-means||. These
// methods compare candidates with all points again and again. By the triangle inequality, most points need not be read.
//
// Let c be the nearest chosen row of a point x, and D the squared distance. If D(c, y) >= 4 D(x, c), then a candidate y
// is no nearer to x than c is. The points are divided into chunks of some thousand points. The points of a chunk are
// ordered by their nearest chosen row, and the points with the same chosen row form a segment. Each segment stores its
// largest distance to the chosen row, so one comparison shows whether a candidate can be nearer to any point of the
// segment. In few dimensions, all steps but the first ones read only the points near the candidates. The results have
// the same bits as the results of a plain loop over all n points. Source: E. Raff, "Exact acceleration of k-means++ and
// k-means||" (IJCAI 2021).
//
// Memory: 10 bytes per point (a distance and a place in the order), and 16 bytes per segment of each chunk.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/failure.hpp"
#include "kmeans/assign/distance.hpp"
#include "kmeans/seeding/potential.hpp"

namespace gradus::kmeans_detail {

template <class T>
class Cover final : public Potential<T> {
 public:
  /// `expected` is the approximate number of rows that will be chosen.
  Cover(const PointRows<T>& points, VectorView<const T> weights, std::int64_t first, std::int64_t expected, int threads,
        const std::stop_token& stop, const core::RankRows& rows)
      : Potential<T>(points, weights, first, threads, stop, candidates_of_a_call, rows), order_(points.rows()) {
    const std::int64_t n = points_.rows();
    at_once_ = std::clamp<std::int64_t>((std::int64_t{1} << 22) / points_.columns(), 16, batch_points);
    // A chunk gets about 64 points per segment, so that segments cost little. If there are then too few chunks for the
    // threads, chunks are smaller.
    const std::int64_t share = n / (std::int64_t{8} * threads_);
    chunk_rows_ = std::min<std::int64_t>(
        {most_chunk_rows, std::max<std::int64_t>(4096, 64 * expected), std::max(share, std::int64_t{1024})});
    chunk_rows_ = (chunk_rows_ + RowSums::block_rows - 1) / RowSums::block_rows * RowSums::block_rows;
    chunks_.resize(static_cast<std::size_t>((n + chunk_rows_ - 1) / chunk_rows_));
    this->begin([&] { cover_all_by(this->row_of(first)); });
  }

  static constexpr std::int64_t candidates_of_a_call = 64;

 protected:
  std::vector<std::uint64_t> own_gains(std::span<const std::int64_t> candidates) override {
    const CandidateReach near(*this, candidates);
    std::vector<std::uint64_t> gains(candidates.size());
    core::FirstFailure failure;
#pragma omp parallel num_threads(threads_) if (chunks_.size() > 1)
    {
      std::uint64_t partial[candidates_of_a_call] = {};
      Batch batch;
      failure.run([&] { batch.room = Buffer<T>(points_.room(at_once_)); });
#pragma omp for schedule(dynamic)
      for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
        if (stop_.stop_requested() || failure.happened()) continue;
        failure.run([&] {
          near.for_each_batch(chunk, batch, [&](std::size_t /*segment*/) {
            const std::uint64_t before = total_with(batch, batch.closest);
            for (std::size_t at = 0; at < batch.candidates.size(); ++at)
              partial[batch.candidates[at]] += before - total_with(batch, batch.distances.data() + at * batch.count);
          });
        });
      }
#pragma omp critical(gradus_cover_gains)
      for (std::size_t candidate = 0; candidate < gains.size(); ++candidate) gains[candidate] += partial[candidate];
    }
    failure.rethrow();
    honour_stop();
    return gains;
  }

  void own_add(std::span<const std::int64_t> rows) override {
    const CandidateReach near(*this, rows);
    core::FirstFailure failure;
#pragma omp parallel num_threads(threads_) if (chunks_.size() > 1)
    {
      Batch batch;
      Moves moves;
      failure.run([&] {
        moves.make(chunk_rows_, rows.size());
        batch.room = Buffer<T>(points_.room(at_once_));
      });
#pragma omp for schedule(dynamic)
      for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
        if (stop_.stop_requested() || failure.happened()) continue;
        failure.run([&] {
          moves.losers.assign(chunks_[chunk].size(), 0);
          bool moved = false;
          near.for_each_batch(chunk, batch, [&](std::size_t segment) {
            for (std::size_t index = 0; index < batch.count; ++index)
              if (lower(chunk, batch, index, moves)) moves.losers[segment] = moved = true;
          });
          if (moved) regroup(chunk, moves);
        });
      }
    }
    failure.rethrow();
    honour_stop();
  }

  std::vector<std::uint64_t> own_weights_of_chosen() const override {
    const Quantizer quantize = weight_quantizer(largest_weight_, this->rank_rows().all());
    std::vector<std::uint64_t> sums(chosen_.size());
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      honour_stop();
      std::int64_t at = first_row(chunk);
      for (const Segment& segment : chunks_[chunk]) {
        std::uint64_t& sum = sums[static_cast<std::size_t>(segment.chosen)];
        if (weights_.empty()) sum += segment.count;
        else
          for (std::int64_t index = at; index < at + segment.count; ++index)
            sum += quantize(weight(first_row(chunk) + order_[index]));
        at += segment.count;
      }
    }
    return sums;
  }

 private:
  using Potential<T>::points_, Potential<T>::weights_, Potential<T>::stop_, Potential<T>::threads_,
      Potential<T>::closest_, Potential<T>::quantize_, Potential<T>::chosen_, Potential<T>::largest_weight_,
      Potential<T>::weight, Potential<T>::honour_stop;

  // `order_` uses 16 bits for the place of a point within its chunk.
  static constexpr std::int64_t most_chunk_rows = 65536;
  static constexpr std::int64_t ahead = 32;          // prefetch distance, in points
  static constexpr std::int64_t batch_points = 256;  // number of points whose distances are computed together

  struct Segment {
    double radius = 0;  ///< the largest squared distance between a point of the segment and the chosen row
    std::int32_t chosen = 0;
    std::uint32_t count = 0;
  };

  /// Some points of one segment, the candidates that may be nearer to these points than the chosen row, and the
  /// distances between these points and candidates. There is one object per thread.
  struct Batch {
    std::size_t count = 0;
    std::int64_t rows[batch_points];
    const T* addresses[batch_points];
    Buffer<T> room;  ///< for widened rows
    double closest[batch_points];
    double weights[batch_points];  ///< filled only if the points have weights
    std::vector<std::size_t> candidates;
    std::vector<const T*> candidate_addresses;
    std::vector<double> distances;  ///< in the order [candidate][row]
  };

  /// The points of one chunk that move to new segments. There is one object per thread.
  struct Moves {
    void make(std::int64_t rows, std::size_t candidates) {
      target.resize(static_cast<std::size_t>(rows));
      gained.resize(candidates);
    }
    /// For each place in the chunk: 0 if the point stays, otherwise 1 + the index of the new row to which it moves.
    std::vector<std::uint8_t> target;
    std::vector<char> losers;  ///< for each segment: nonzero if some points leave it

    /// For each new chosen row: the places of the points that move to it.
    std::vector<std::vector<std::uint16_t>> gained;
  };

  /// Stores a squared distance for each pair of a chosen row and a candidate. If a point is within this distance of its
  /// chosen row, the candidate cannot be nearer to the point than the chosen row is.
  class CandidateReach {
   public:
    CandidateReach(const Cover& cover, std::span<const std::int64_t> candidates)
        : cover_(cover), reach_(candidates.size() * cover.chosen_.size()), least_(cover.chosen_.size()) {
      for (const std::int64_t row : candidates) addresses_.push_back(cover.row_of(row));
      const std::size_t chosen = least_.size();
      const std::int64_t d = cover.points_.columns();
      // The computed values of D and 4 D have relative errors of about (d + 2) / 2 units in the last place each, except
      // near the smallest doubles. The factor covers eight times this error.
      const double factor = 0.25 / (1 + 8 * static_cast<double>(d + 4) * 0x1p-53);
#pragma omp parallel for num_threads(cover.threads_) schedule(static) if (chosen > batch_points)
      for (std::size_t first = 0; first < chosen; first += batch_points) {
        if (cover.stop_.stop_requested()) continue;
        const std::size_t count = std::min<std::size_t>(batch_points, chosen - first);
        const T* rows[batch_points];
        double distances[batch_points * candidates_of_a_call];
        for (std::size_t index = 0; index < count; ++index) rows[index] = cover.row_of(cover.chosen_[first + index]);
        squared_distances<T>(rows, static_cast<std::int64_t>(count), addresses_.data(),
                             static_cast<std::int64_t>(addresses_.size()), d, distances);
        for (std::size_t index = 0; index < count; ++index) {
          double least = std::numeric_limits<double>::infinity();
          for (std::size_t candidate = 0; candidate < addresses_.size(); ++candidate) {
            const double distance = distances[candidate * count + index];
            const double reach = distance < 0x1p-960 ? 0.0 : distance * factor;
            reach_[(first + index) * addresses_.size() + candidate] = reach;
            least = std::min(least, reach);
          }
          least_[first + index] = least;
        }
      }
      cover.honour_stop();
    }

    /// Collects those points of the chunk to which a candidate may be nearer. Fills `batch` with some points of one
    /// segment, calls `use` with the segment's number, and then continues with the next points.
    template <class Use>
    void for_each_batch(std::size_t chunk, Batch& batch, const Use& use) const {
      const std::vector<Segment>& segments = cover_.chunks_[chunk];
      const std::int64_t first = cover_.first_row(chunk);
      const std::int64_t last = std::min(first + cover_.chunk_rows_, cover_.points_.rows()) - 1;
      std::int64_t at = first;
      for (std::size_t number = 0; number < segments.size(); ++number) {
        const Segment segment = segments[number];
        const std::int64_t end = at + segment.count;
        const double least = least_[static_cast<std::size_t>(segment.chosen)];
        if (segment.radius > least) {
          choose_candidates(segment, batch);
          while (at < end) {
            if (cover_.stop_.stop_requested()) return;
            // Writes every point to the batch, but increases the count only if a candidate may be nearer. A branch
            // would be unpredictable.
            batch.count = 0;
            for (const std::int64_t stop = std::min(end, at + cover_.at_once_); at < stop; ++at) {
              // Prefetches only within the chunk, because another thread may change the order of the next chunk at the
              // same time.
              __builtin_prefetch(&cover_.closest_[first + cover_.order_[std::min(at + ahead, last)]]);
              const std::int64_t row = first + cover_.order_[at];
              batch.rows[batch.count] = row;
              batch.closest[batch.count] = cover_.closest_[row];
              batch.count += cover_.closest_[row] > least;
            }
            if (batch.count == 0) continue;
            for (std::size_t index = 0; index < batch.count; ++index)
              batch.addresses[index] =
                  cover_.points_.row(batch.rows[index], batch.room.data(), static_cast<std::int64_t>(index));
            if (!cover_.weights_.empty())
              for (std::size_t index = 0; index < batch.count; ++index)
                batch.weights[index] = cover_.weight(batch.rows[index]);
            batch.distances.resize(batch.count * batch.candidates.size());
            squared_distances<T>(batch.addresses, static_cast<std::int64_t>(batch.count),
                                 batch.candidate_addresses.data(), static_cast<std::int64_t>(batch.candidates.size()),
                                 cover_.points_.columns(), batch.distances.data());
            use(number);
          }
        }
        at = end;
      }
    }

   private:
    void choose_candidates(const Segment& segment, Batch& batch) const {
      batch.candidates.clear();
      batch.candidate_addresses.clear();
      const double* reach = reach_.data() + static_cast<std::size_t>(segment.chosen) * addresses_.size();
      for (std::size_t candidate = 0; candidate < addresses_.size(); ++candidate)
        if (segment.radius > reach[candidate]) {
          batch.candidates.push_back(candidate);
          batch.candidate_addresses.push_back(addresses_[candidate]);
        }
    }

    const Cover& cover_;
    std::vector<const T*> addresses_;
    std::vector<double> reach_;  ///< [chosen row][candidate]: within this distance of the chosen row, no point is
                                 ///< nearer to the candidate
    std::vector<double> least_;  ///< for each chosen row: the minimum of `reach_` over the candidates
  };

  std::int64_t first_row(std::size_t chunk) const { return static_cast<std::int64_t>(chunk) * chunk_rows_; }

  void cover_all_by(const T* chosen) {
    const std::int64_t n = points_.rows();
    for (std::vector<Segment>& segments : chunks_) segments.resize(1);
    core::FirstFailure failure;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      Buffer<T> room;
      failure.run([&] { room = Buffer<T>(points_.room(at_once_)); });
      if (failure.happened()) continue;
      const std::int64_t first = first_row(chunk);
      const std::int64_t end = std::min(first + chunk_rows_, n);
      double radius = 0;
      for (std::int64_t row = first; row < end && !stop_.stop_requested(); row += at_once_) {
        const std::int64_t count = std::min(at_once_, end - row);
        squared_distances(points_.block(row, count, room.data()), MatrixView<const T>(chosen, 1, points_.columns()),
                          closest_.data() + row);
        for (std::int64_t index = row; index < row + count; ++index) {
          order_[index] = static_cast<std::uint16_t>(index - first);
          radius = std::max(radius, closest_[index]);
        }
      }
      chunks_[chunk].front() = {radius, 0, static_cast<std::uint32_t>(end - first)};
    }
    failure.rethrow();
    honour_stop();
  }

  /// Returns how much the points of `batch` would contribute to total() if each point could also choose a row at the
  /// given distance. The result includes a term that depends only on the number of points.
  std::uint64_t total_with(const Batch& batch, const double* distances) const {
    const Quantizer quantize = quantize_;
    std::uint64_t sum = 0;
    for (std::size_t index = 0; index < batch.count; ++index) {
      const double mine = batch.closest[index];
      const double other = distances[index];
      const double least = other < mine ? other : mine;
      sum += quantize.raw(weights_.empty() ? least : batch.weights[index] * least);
    }
    return sum;
  }

  /// Moves a point to the nearest new row if this row is nearer than the chosen row to which the point belongs. Returns
  /// true if the point moves.
  bool lower(std::size_t chunk, const Batch& batch, std::size_t index, Moves& moves) {
    const std::int64_t row = batch.rows[index];
    double least = batch.closest[index];
    std::size_t nearest = moves.gained.size();
    for (std::size_t at = 0; at < batch.candidates.size(); ++at) {
      const double distance = batch.distances[at * batch.count + index];
      if (distance < least) {
        least = distance;
        nearest = batch.candidates[at];
      }
    }
    if (nearest == moves.gained.size()) return false;
    // A chunk consists of whole blocks of the sums, so no other thread changes this block.
    Potential<T>::lower(row, least);
    moves.target[static_cast<std::size_t>(row - first_row(chunk))] = static_cast<std::uint8_t>(nearest + 1);
    return true;
  }

  /// Moves points of a chunk to new segments, which follow the old segments.
  void regroup(std::size_t chunk, Moves& moves) {
    std::vector<Segment>& segments = chunks_[chunk];
    const std::int64_t first = first_row(chunk);
    std::uint16_t* const order = order_.data() + first;
    std::size_t from = 0;
    std::size_t to = 0;
    for (std::size_t number = 0; number < segments.size(); ++number) {
      Segment& segment = segments[number];
      const std::size_t end = from + segment.count;
      if (!moves.losers[number]) {
        std::memmove(order + to, order + from, segment.count * sizeof *order);
        to += segment.count;
        from = end;
        continue;
      }
      segment.count = 0;
      segment.radius = 0;
      for (; from < end; ++from) {
        const std::uint16_t place = order[from];
        std::uint8_t& target = moves.target[place];
        if (target > 0) {
          moves.gained[target - 1u].push_back(place);
          target = 0;
          continue;
        }
        order[to++] = place;
        ++segment.count;
        segment.radius = std::max(segment.radius, closest_[first + place]);
      }
    }
    std::erase_if(segments, [](const Segment& segment) { return segment.count == 0; });
    for (std::size_t candidate = 0; candidate < moves.gained.size(); ++candidate) {
      std::vector<std::uint16_t>& places = moves.gained[candidate];
      if (places.empty()) continue;
      Segment segment{0, static_cast<std::int32_t>(chosen_.size() + candidate),
                      static_cast<std::uint32_t>(places.size())};
      for (const std::uint16_t place : places) {
        order[to++] = place;
        segment.radius = std::max(segment.radius, closest_[first + place]);
      }
      segments.push_back(segment);
      places.clear();
    }
  }

  std::int64_t at_once_ = 0;  ///< number of points per batch; if rows are long, it is less than batch_points

  /// For each chunk, one segment after another: the row numbers of the points, relative to the chunk's first row.
  Buffer<std::uint16_t> order_;
  std::int64_t chunk_rows_ = 0;
  std::vector<std::vector<Segment>> chunks_;
};

}  // namespace gradus::kmeans_detail
