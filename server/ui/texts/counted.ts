/** A number with its noun. */
export const counted = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? noun : nouns}`

/** The first of some values. */
export const few = (values: readonly string[]): string =>
  values.slice(0, 3).join(', ') + (values.length > 3 ? ` and ${values.length - 3} more` : '')
