/** One row of a result. `columns` of its benchmark has the heading and the unit of each value. */
export type Row = Readonly<Record<string, string | number>>
