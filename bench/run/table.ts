import { formatNumber } from './case.ts'
import type { Row } from './row.ts'

/** The widest line that a table has if its cells allow it. */
const MAX_WIDTH = 100
const GAP = '  '

interface Column {
  readonly heading: string
  readonly cells: readonly string[]
  readonly isNumeric: boolean
}

/**
 * Formats rows as a text table of at most 100 columns. Numbers are grouped and aligned to the right. Headings wrap at
 * spaces, as do texts in the last column. Columns without a value in any row are left out.
 *
 * @param columns the heading of each column, by the row's key, in their order
 */
export function formatTable(columns: Readonly<Record<string, string>>, rows: readonly Row[]): string {
  const shown = Object.entries(columns)
    .map(([key, heading]) =>
      columnOf(
        heading,
        rows.map((row) => row[key]),
      ),
    )
    .filter(({ cells }) => cells.some((cell) => cell !== ''))
  const widths = widenHeadings(shown, shrinkLast(shown.map(naturalWidth)))
  const headings = shown.map(({ heading }, i) => wrap(heading, widths[i] ?? 0))
  const height = Math.max(...headings.map((lines) => lines.length))
  const head = Array.from({ length: height }, (_, line) =>
    headings.map((lines) => lines[line - height + lines.length] ?? ''),
  )
  const rule = widths.map((width) => '─'.repeat(width))
  const body = rows.flatMap((_, row) => linesOf(shown.map(({ cells }, i) => wrap(cells[row] ?? '', widths[i] ?? 0))))
  return [...head, rule, ...body].map((cells) => joinCells(cells, shown, widths)).join('\n')
}

const columnOf = (heading: string, values: readonly (string | number | undefined)[]): Column => ({
  heading,
  cells: values.map((value) => (typeof value === 'number' ? formatNumber(value) : (value ?? ''))),
  isNumeric: values.some((value) => typeof value === 'number'),
})

/** As wide as the widest cell and the longest word of the heading. */
function naturalWidth({ heading, cells }: Column): number {
  const words = heading.split(' ').map((word) => word.length)
  return Math.max(...words, ...cells.map((cell) => cell.length))
}

const totalWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length)

/** Uses free width to make the tallest heading lower, until no heading has more than one line or no width is left. */
function widenHeadings(columns: readonly Column[], widths: readonly number[]): readonly number[] {
  const wider = [...widths]
  const heightAt = (i: number): number => wrap(columns[i]?.heading ?? '', wider[i] ?? 0).length
  while (totalWidth(wider) < MAX_WIDTH) {
    const heights = wider.map((_, i) => heightAt(i))
    const tallest = Math.max(...heights)
    if (tallest < 2) break
    const at = heights.indexOf(tallest)
    wider[at] = (wider[at] ?? 0) + 1
  }
  return wider
}

function shrinkLast(widths: readonly number[]): readonly number[] {
  const excess = totalWidth(widths) - MAX_WIDTH
  return excess <= 0
    ? widths
    : widths.map((width, i) => (i === widths.length - 1 ? Math.max(20, width - excess) : width))
}

/** Breaks a text at spaces into lines of at most `width`; a longer word gets a line of its own. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** The lines of one row, whose cells may have several lines. */
function linesOf(cells: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''))
}

const joinCells = (cells: readonly string[], columns: readonly Column[], widths: readonly number[]): string =>
  cells
    .map((cell, i) => (columns[i]?.isNumeric ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
    .join(GAP)
    .trimEnd()
