"""Which lane each row sits in: a family may have several lanes, a lane has one family at a time."""


class Seats:
    def __init__(self, rows: int, lanes: int, per_lane: int):
        self.of_row: list[tuple[int, int] | None] = [None] * rows  # lane, and place in it
        self._free = [set(range(per_lane)) for _ in range(lanes)]
        self._per_lane = per_lane
        self._family: list[int | None] = [None] * lanes

    @property
    def lanes_in_use(self) -> int:
        """Lanes up to the last one that somebody sits in."""
        used = [lane for lane, free in enumerate(self._free) if len(free) < self._per_lane]
        return max(used, default=-1) + 1

    def take(self, row: int, family: int) -> bool:
        """Find a place for the row; whether there is one."""
        lanes = range(len(self._free))
        fitting = [lane for lane in lanes if self._family[lane] == family and self._free[lane]]
        empty = [lane for lane in lanes if len(self._free[lane]) == self._per_lane]
        if not fitting and not empty:
            return False
        lane = (fitting or empty)[0]
        self._family[lane] = family
        place = min(self._free[lane])
        self._free[lane].remove(place)
        self.of_row[row] = lane, place
        return True

    def leave(self, row: int) -> None:
        if seat := self.of_row[row]:
            lane, place = seat
            self._free[lane].add(place)
            self.of_row[row] = None

    def move(self, source: int, target: int) -> None:
        """Another row stands for the same answer."""
        self.of_row[target], self.of_row[source] = self.of_row[source], None
