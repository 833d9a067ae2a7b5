// An array that grows, for plain data.  (std::vector would be shared between the instruction sets;
// see dispatch/kernels.hpp.)
#pragma once

#include <cstdlib>

#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class T>
class GrowingArray {
  public:
    GrowingArray() = default;
    GrowingArray(const GrowingArray&) = delete;
    GrowingArray& operator=(const GrowingArray&) = delete;
    ~GrowingArray() { std::free(data_); }

    Index size() const { return size_; }
    T& operator[](Index i) { return data_[i]; }
    const T& operator[](Index i) const { return data_[i]; }

    // Make the array `size` long; new entries are uninitialised.  False: no memory, nothing
    // changed.
    bool resize(Index size) {
        if (size > capacity_) {
            const Index wanted = size > 2 * capacity_ ? size : 2 * capacity_;
            void* data = std::realloc(data_, static_cast<std::size_t>(wanted) * sizeof(T));
            if (data == nullptr) return false;
            data_ = static_cast<T*>(data);
            capacity_ = wanted;
        }
        size_ = size;
        return true;
    }

  private:
    T* data_ = nullptr;
    Index size_ = 0, capacity_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
