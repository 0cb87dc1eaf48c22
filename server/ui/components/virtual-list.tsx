import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Rows outside the visible part that are rendered, so that scrolling shows no gap. */
const OVERSCAN_ROWS = 10
/** The rows in the place of those that are loading. */
const SKELETON_ROWS = [2, 3, 4, 5, 6, 7, 8, 9, 10]

/** The rows to render, from `first` until before `end`: those that are visible, with some more before and after them. */
function windowOf({ scrollTop, clientHeight }: HTMLElement, rowPx: number, rowCount: number) {
  const firstVisible = Math.floor(scrollTop / rowPx)
  const first = Math.max(0, Math.min(firstVisible, rowCount) - OVERSCAN_ROWS)
  return { first, end: Math.min(rowCount, firstVisible + Math.ceil(clientHeight / rowPx) + OVERSCAN_ROWS) }
}

/** The style sheet says how high a row is: more on a phone. */
const rowPxOf = (element: HTMLElement): number =>
  Number.parseFloat(getComputedStyle(element).getPropertyValue('--row-height'))

/** A column. `isWide`: shown only on wide screens. */
interface GridColumn {
  readonly title: string
  readonly isWide?: boolean
}

interface VirtualListProps<T> {
  readonly label: string
  readonly columns: readonly GridColumn[]
  readonly items: readonly T[]
  /** A `GridRow` with a key. */
  readonly row: (item: T, rowIndex: number) => ComponentChildren
  /** Called when the end of the items comes near. Must be safe to call repeatedly. */
  readonly onNearEnd: () => void
  /** -1 if more rows follow than are loaded. */
  readonly rowCount: number
  /** How far the list is scrolled. It begins there, and keeps the number up to date. */
  readonly scrollTopPx: { current: number }
}

/**
 * A table that renders only its visible rows, so that the page has the same number of elements for any number of items.
 * It is a table for screen readers too: roles, row indexes and the number of rows.
 */
export function VirtualList<T>(props: VirtualListProps<T>) {
  const { label, columns, items, row, onNearEnd, rowCount, scrollTopPx } = props
  const element = useRef<HTMLDivElement>(null)
  const [rows, setRows] = useState({ first: 0, end: 0 })
  const update = (): void => {
    const { current } = element
    if (current === null) return
    scrollTopPx.current = current.scrollTop
    const next = windowOf(current, rowPxOf(current), items.length)
    setRows((before) => (before.first === next.first && before.end === next.end ? before : next))
    if (next.end >= items.length) onNearEnd()
  }
  useLayoutEffect(() => {
    if (element.current !== null) element.current.scrollTop = scrollTopPx.current
    update()
  }, [])
  useEffect(update)
  useEffect(() => {
    addEventListener('resize', update)
    return () => removeEventListener('resize', update)
  })
  const height = (count: number): string => `calc(${count} * var(--row-height))`
  return (
    <div class="card flush grid-scroll" ref={element} onScroll={update} tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rowCount}>
        <GridRow columns={columns} cells={columns.map(({ title }) => title)} rowIndex={1} isHeader />
        <div role="rowgroup" class="grid-body" style={{ height: height(items.length || SKELETON_ROWS.length) }}>
          <div role="presentation" class="grid-window" style={{ top: height(rows.first) }}>
            {items.slice(rows.first, rows.end).map((item, i) => row(item, rows.first + i + 2))}
            {items.length === 0 &&
              SKELETON_ROWS.map((rowIndex) => <GridRow key={rowIndex} columns={columns} rowIndex={rowIndex} />)}
          </div>
        </div>
      </div>
    </div>
  )
}

interface GridRowProps {
  readonly columns: readonly GridColumn[]
  /** One for each column. Absent: they are loading. */
  readonly cells?: readonly ComponentChildren[]
  /** From 1, which is the header. */
  readonly rowIndex: number
  readonly isHeader?: boolean
}

/** A row of a `VirtualList`. */
export const GridRow = ({ columns, cells, rowIndex, isHeader = false }: GridRowProps) => (
  <div
    role="row"
    class={isHeader ? 'grid-row header caption' : cells ? 'grid-row hover' : 'grid-row'}
    aria-rowindex={rowIndex}
    aria-hidden={cells === undefined}
  >
    {columns.map(({ title, isWide = false }, i) => (
      <span key={title} role={isHeader ? 'columnheader' : 'cell'} class={isWide ? 'wide' : ''}>
        {cells ? cells[i] : <span class="skeleton" />}
      </span>
    ))}
  </div>
)
