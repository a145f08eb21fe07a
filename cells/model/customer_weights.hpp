// How much of a cell each of its customers gets, compared with the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace cells {

inline constexpr std::uint32_t customer_weight_max = 100;

/// Cheap to copy: cells of one template share the names.
class CustomerWeights {
 public:
  using Named = std::map<std::string, std::uint32_t>;

  CustomerWeights() = default;
  /// Weights are 1 to customer_weight_max.
  explicit CustomerWeights(Named named, std::uint32_t others = 1)
      : named_(named.empty() ? nullptr : std::make_shared<const Named>(std::move(named))),
        others_(others) {}

  std::uint32_t weight_of(const std::string& customer) const {
    if (!named_) return others_;
    const auto found = named_->find(customer);
    return found == named_->end() ? others_ : found->second;
  }
  /// Of customers that have no weight of their own.
  std::uint32_t others() const { return others_; }
  const Named& named() const {
    static const Named none;
    return named_ ? *named_ : none;
  }

  bool operator==(const CustomerWeights& other) const {
    return others_ == other.others_ && named() == other.named();
  }

 private:
  std::shared_ptr<const Named> named_;  ///< Null: none.
  std::uint32_t others_ = 1;
};

}  // namespace cells
