import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { BenchResult, Row } from './case.ts'
import type { Machine } from './machine.ts'

/** `npm run bench:draw`: makes `bench/results/NAME.svg` of each `NAME.json` there that has a picture. */

interface Recorded extends BenchResult {
  readonly bench: string
  readonly machine: Machine
}

interface Bar {
  readonly label: string
  readonly series: string
  readonly value: number
}

interface Picture {
  readonly title: string
  readonly unit: string
  readonly isLogarithmic?: boolean
  readonly bars: (rows: readonly Row[]) => readonly Bar[]
}

const text = (value: unknown): string => String(value)
const grouped = (value: unknown): string => Number(value).toLocaleString('en')

/** A bar for each of these columns of a row that has a number there. */
const columns =
  (label: (row: Row) => string, names: Readonly<Record<string, string>>) =>
  (rows: readonly Row[]): readonly Bar[] =>
    rows.flatMap((row) =>
      Object.entries(names).flatMap(([column, series]) => {
        const value = row[column]
        return typeof value === 'number' ? [{ label: label(row), series, value }] : []
      }),
    )

const largest = (rows: readonly Row[]): readonly Row[] => {
  const most = Math.max(...rows.map(({ leaves }) => Number(leaves)))
  return rows.filter(({ leaves }) => leaves === most)
}

const PICTURES: Readonly<Record<string, Picture>> = {
  engine: {
    title: 'A tree of 2^20 leaves and all its proofs',
    unit: 'leaves or proofs a second (logarithmic)',
    isLogarithmic: true,
    bars: (rows) =>
      columns((row) => text(row['contestant']), { leavesPerSecond: 'tree', proofsPerSecond: 'all proofs' })(
        largest(rows),
      ),
  },
  limit: {
    title: 'Hashing a node, one thread',
    unit: 'ns a node',
    bars: columns((row) => text(row['way']), { nanosANode: 'ns' }),
  },
  scaling: {
    title: 'A tree of 2^20 leaves by workers',
    unit: 'ms',
    bars: columns((row) => text(row['workers']), { coldMs: 'cold', warmMs: 'warm' }),
  },
  sealing: {
    title: 'Sealing a backlog from LevelDB, by events',
    unit: 'ms (logarithmic); stages overlap',
    isLogarithmic: true,
    bars: columns((row) => grouped(row['events']), {
      totalMs: 'all of it',
      readMs: 'reading',
      hashMs: 'hashing',
      commitMs: 'committing',
      bareHashMs: 'bare hashing beside it',
    }),
  },
  ingest: {
    title: 'Creating evidences, embedded, each group synced, by how many are in flight',
    unit: 'a second',
    bars: columns((row) => text(row['inFlight']), {
      createsPerSecond: 'creates',
      bareWithLookupsPerSecond: 'bare loop that looks up its place',
      bareLoopPerSecond: 'bare loop of the same work',
      bareBytesPerSecond: 'the same, encoded before',
    }),
  },
  http: {
    title: 'Over HTTP at 64 connections',
    unit: 'requests a second (logarithmic)',
    isLogarithmic: true,
    bars: columns((row) => text(row['request']), { perSecond: 'requests' }),
  },
  growth: {
    title: 'Cost as the registry grows, by evidences in it',
    unit: 'µs',
    bars: columns((row) => grouped(row['evidences']), { createMicros: 'create', getMicros: 'get' }),
  },
}

/** In the order of the rows, without a legend where there is one series. */
function specOf({ title, unit, isLogarithmic = false, bars }: Picture, { rows, machine }: Recorded): TopLevelSpec {
  const values = bars(rows)
  const series = [...new Set(values.map((bar) => bar.series))]
  // A logarithmic axis has no zero: its bars begin at a power of ten below all of them.
  const start = 10 ** Math.floor(Math.log10(Math.min(...values.map(({ value }) => value))))
  const y = { field: 'label', type: 'nominal', sort: null, title: null, axis: { labelLimit: 320 } } as const
  const color = {
    field: 'series',
    type: 'nominal',
    sort: series,
    title: null,
    legend: series.length === 1 ? null : { orient: 'bottom', columns: 3, labelLimit: 320 },
  } as const
  return {
    background: 'white',
    padding: 12,
    width: 520,
    height: { step: series.length === 1 ? 22 : 13 },
    title: { text: title, subtitle: captionOf(machine), anchor: 'start', subtitleColor: '#666' },
    data: { values: values.map((bar) => ({ ...bar, shown: bar.value.toLocaleString('en') })) },
    encoding: {
      y,
      yOffset: { field: 'series', sort: series },
      x: {
        field: 'value',
        type: 'quantitative',
        title: unit,
        scale: isLogarithmic ? { type: 'log', domainMin: start } : { zero: true },
      },
    },
    layer: [
      { mark: 'bar', encoding: { color, ...(isLogarithmic && { x2: { datum: start } }) } },
      { mark: { type: 'text', align: 'left', dx: 3, fontSize: 9 }, encoding: { text: { field: 'shown' } } },
    ],
    config: { font: 'sans-serif', view: { stroke: null } },
  }
}

const captionOf = ({ cpu, cores, node, load }: Machine): string =>
  `${cpu}, ${cores} cores, Node ${node}; load at the start: ${load}`

async function draw(folder: string, file: string): Promise<void> {
  const recorded = JSON.parse(await readFile(join(folder, file), 'utf8')) as Recorded
  const picture = PICTURES[recorded.bench]
  if (picture === undefined) return
  const view = new View(parse(compile(specOf(picture, recorded)).spec), { renderer: 'none' })
  const path = join(folder, `${recorded.bench}.svg`)
  await writeFile(path, `${await view.toSVG()}\n`)
  view.finalize()
  console.log(path)
}

const [folder = 'bench/results'] = process.argv.slice(2)
for (const file of (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()) await draw(folder, file)
