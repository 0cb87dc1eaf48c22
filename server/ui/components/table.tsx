import type { ComponentChildren } from 'preact'

/** A column: its title, and what it shows of an item. */
export interface Column<T> {
  readonly title: string
  readonly cell: (item: T) => ComponentChildren
  /** Numbers stand at the right. At the end of a row is its menu, whose title is for screen readers only. */
  readonly kind?: 'number' | 'end'
}

interface TableProps<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly items: readonly T[]
  readonly keyOf: (item: T) => string
  /** Whether the first column names its row. */
  readonly hasRowNames?: boolean
  /** The class of a row. */
  readonly classOf?: (item: T) => string
  /** Whether it is a card of its own. */
  readonly isCard?: boolean
}

/**
 * A table that becomes a list of cards on narrow screens, where each value has the title of its column. The roles are
 * written out, because elements that are not displayed as a table lose theirs.
 */
export function Table<T>(props: TableProps<T>) {
  const { label, columns, items, keyOf, hasRowNames = false, classOf, isCard = true } = props
  return (
    <div class={`table-wrap ${isCard ? 'card' : ''}`} tabIndex={0} role="region" aria-label={label}>
      <table role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, kind }) => (
              <th key={title} role="columnheader" scope="col" class={kind}>
                {kind === 'end' ? <span class="visually-hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {items.map((item) => (
            <tr key={keyOf(item)} role="row" class={classOf?.(item)}>
              {columns.map((column, i) => (
                <Cell key={column.title} column={column} item={item} isName={hasRowNames && i === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface CellProps<T> {
  readonly column: Column<T>
  readonly item: T
  readonly isName: boolean
}

/** The first cell can name its row, so that a screen reader reads it with each value. */
function Cell<T>({ column: { title, kind, cell }, item, isName }: CellProps<T>) {
  if (isName)
    return (
      <th role="rowheader" scope="row">
        {cell(item)}
      </th>
    )
  return (
    <td role="cell" class={kind} {...(kind !== 'end' && { 'data-title': title })}>
      {cell(item)}
    </td>
  )
}
