import type { TopLevelSpec } from 'vega-lite'
import { formatMachine, type Machine } from './machine.ts'
import type { Row } from './row.ts'

/** A bar chart of a result. */
export interface Picture {
  readonly title: string
  /** Of the horizontal axis. */
  readonly unit: string
  readonly isLogarithmic?: boolean
  readonly bars: (rows: readonly Row[]) => readonly Bar[]
}

export interface Bar {
  readonly label: string
  readonly series: string
  readonly value: number
}

/** Returns one bar for each number that a row has in one of these columns; `series` has the legend of each column. */
export const barsOf =
  (label: (row: Row) => string, series: Readonly<Record<string, string>>) =>
  (rows: readonly Row[]): readonly Bar[] =>
    rows.flatMap((row) =>
      Object.entries(series).flatMap(([column, name]) => {
        const value = row[column]
        return typeof value === 'number' ? [{ label: label(row), series: name, value }] : []
      }),
    )

/** Returns the SVG of a result's picture. */
export async function drawPicture(picture: Picture, rows: readonly Row[], machine: Machine): Promise<string> {
  // Loaded only here, because most runs draw nothing.
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')])
  const view = new View(parse(compile(specOf(picture, rows, machine)).spec), { renderer: 'none' })
  const svg = await view.toSVG()
  view.finalize()
  return svg
}

/** Bars in the order of the rows. There is a legend only if there are several series. */
function specOf(
  { title, unit, isLogarithmic = false, bars }: Picture,
  rows: readonly Row[],
  machine: Machine,
): TopLevelSpec {
  const values = bars(rows)
  const series = [...new Set(values.map((bar) => bar.series))]
  // A logarithmic axis has no zero, so its bars begin at a power of ten below all values.
  const start = 10 ** Math.floor(Math.log10(Math.min(...values.map(({ value }) => value))))
  const y = { field: 'label', type: 'nominal', sort: null, title: null, axis: { labelLimit: 480 } } as const
  const legend = series.length === 1 ? null : ({ orient: 'bottom', columns: 3, labelLimit: 320 } as const)
  const color = { field: 'series', type: 'nominal', sort: series, title: null, legend } as const
  const scale = isLogarithmic ? ({ type: 'log', domainMin: start } as const) : { zero: true }
  return {
    background: 'white',
    padding: 12,
    width: 520,
    height: { step: series.length === 1 ? 22 : 13 },
    title: { text: title, subtitle: captionOf(machine), anchor: 'start', subtitleColor: '#666' },
    data: { values: values.map((bar) => ({ ...bar, text: bar.value.toLocaleString('en') })) },
    encoding: {
      y,
      yOffset: { field: 'series', sort: series },
      x: { field: 'value', type: 'quantitative', title: unit, scale },
    },
    layer: [
      { mark: 'bar', encoding: { color, ...(isLogarithmic && { x2: { datum: start } }) } },
      { mark: { type: 'text', align: 'left', dx: 3, fontSize: 9 }, encoding: { text: { field: 'text' } } },
    ],
    config: { font: 'sans-serif', view: { stroke: null } },
  }
}

const captionOf = (machine: Machine): string => `${formatMachine(machine)}; load before the run: ${machine.load}`
