// The order in which blocks take the tiles of a matrix product.
#pragma once

// Blocks that run together share rows of a and columns of b in L2: tiles go down GROUP rows before they go one column
// to the right.
constexpr int GROUP = 8;
struct Tile {
    long long row;
    long long column;
};

__device__ __forceinline__ long long tile_count(long long m, long long n, int height, int width) {
    return (m + height - 1) / height * ((n + width - 1) / width);
}

__device__ __forceinline__ Tile tile_at(long long number, long long m, long long n, int height, int width) {
    const long long down = (m + height - 1) / height, across = (n + width - 1) / width;
    const long long first = number / (GROUP * across) * GROUP, within = number % (GROUP * across);
    const long long rows = down - first < GROUP ? down - first : GROUP;
    return {(first + within % rows) * height, within / rows * width};
}
