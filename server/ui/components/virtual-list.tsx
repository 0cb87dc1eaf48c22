import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** As `--row-height` in tokens.css. */
const ROW_PX = 64
/** Rows outside the visible part that are rendered, so that scrolling shows no gap. */
const OVERSCAN_ROWS = 10

/** The rows to render: from `first`, until before `end`. */
export interface RowWindow {
  readonly first: number
  readonly end: number
}

/** The rows that are visible, with some more before and after them. */
export function windowOf(scrollTopPx: number, heightPx: number, rowCount: number): RowWindow {
  const firstVisible = Math.floor(scrollTopPx / ROW_PX)
  const first = Math.max(0, Math.min(firstVisible, rowCount) - OVERSCAN_ROWS)
  return { first, end: Math.min(rowCount, firstVisible + Math.ceil(heightPx / ROW_PX) + OVERSCAN_ROWS) }
}

interface VirtualListProps<T> {
  readonly label: string
  readonly columns: readonly { readonly title: string; readonly isWide?: boolean }[]
  readonly items: readonly T[]
  readonly keyOf: (item: T) => string
  /** The cells of a row. */
  readonly row: (item: T) => readonly ComponentChildren[]
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
  const { label, columns, items, keyOf, row, onNearEnd, rowCount, scrollTopPx } = props
  const element = useRef<HTMLDivElement>(null)
  const [rows, setRows] = useState<RowWindow>({ first: 0, end: 0 })
  const update = (): void => {
    const { current } = element
    if (current === null) return
    scrollTopPx.current = current.scrollTop
    const next = windowOf(current.scrollTop, current.clientHeight, items.length)
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
  const cell = (content: ComponentChildren, i: number, role: 'cell' | 'columnheader') => (
    <span key={i} role={role} class={columns[i]?.isWide === true ? 'wide' : ''}>
      {content}
    </span>
  )
  return (
    <div class="card flush grid-scroll" ref={element} onScroll={update} tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rowCount}>
        <div role="row" class="grid-row header caption" aria-rowindex={1}>
          {columns.map(({ title }, i) => cell(title, i, 'columnheader'))}
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: `${items.length * ROW_PX}px` }}>
          <div role="presentation" class="grid-window" style={{ top: `${rows.first * ROW_PX}px` }}>
            {items.slice(rows.first, rows.end).map((item, i) => (
              <div role="row" class="grid-row hover" key={keyOf(item)} aria-rowindex={rows.first + i + 2}>
                {row(item).map((content, column) => cell(content, column, 'cell'))}
              </div>
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}
