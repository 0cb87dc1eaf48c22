import type { CategoryList, EvidenceListItem } from '../../client/index.ts'
import { openDialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu, type MenuItem } from '../components/menu.tsx'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { Thumb } from '../components/thumb.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, LongText } from '../components/values.tsx'
import { hrefOf } from '../router.ts'
import { hasLevel, useSession, type Session } from '../session.ts'
import * as texts from '../texts/index.ts'
import { ActionDialog, DetailsDialog, type CategoryNode } from './category-dialogs.tsx'

/** If more are stolen, the table does not count them. */
const MAX_STOLEN = 1_000

/** The categories, each with its subcategories below it. */
export function CategoriesPage() {
  const t = texts.categories
  const session = useSession()
  const { client } = session
  const list = useLoad(
    async (signal) => {
      const request = { signal }
      const [{ categories }, { dts, isMore }] = await Promise.all([
        client.listCategories({}, request),
        client.listEvidences({ status: 'stolen', len: MAX_STOLEN }, request),
      ])
      return { categories, stolen: isMore === true ? undefined : dts }
    },
    [client],
  )
  return (
    <>
      <div class="head">
        <div>
          <h1>{t.title}</h1>
          {list.loaded.state === 'done' && <p class="small muted">{t.counts(list.loaded.value.categories)}</p>}
        </div>
        {hasLevel(session, 'I') && (
          <button class="primary" onClick={() => openDialog(<DetailsDialog onDone={list.reload} />)}>
            <Icon name="plus" />
            {t.create}
          </button>
        )}
      </div>
      <WhenLoaded of={list}>
        {({ categories, stolen }) =>
          categories.length === 0 ? (
            <Notice tone="pending">{t.empty}</Notice>
          ) : (
            <CategoryTable categories={categories} stolen={stolen} onChange={list.reload} />
          )
        }
      </WhenLoaded>
    </>
  )
}

type Category = CategoryList['categories'][number]

interface CategoryTableProps {
  readonly categories: readonly Category[]
  /** All evidences that are reported stolen. Absent if they are too many. */
  readonly stolen: readonly EvidenceListItem[] | undefined
  readonly onChange: () => unknown
}

/** All in one table, with what the key may do to each. */
function CategoryTable({ categories, stolen, onChange }: CategoryTableProps) {
  const t = texts.categories
  const session = useSession()
  const nodes = categories.flatMap(nodesOf)
  const columns: readonly Column<CategoryNode>[] = [
    { title: t.category, cell: CategoryName },
    { title: t.records, kind: 'number', cell: RecordCount },
    ...(stolen === undefined ? [] : [stolenColumn(stolen)]),
    { title: t.answeredTo, cell: (node) => <AnsweredTo node={node} /> },
    {
      title: texts.evidence.actions,
      kind: 'end',
      cell: (node) => <Menu name={node.name} items={itemsOf(node, session, onChange)} />,
    },
  ]
  return (
    <Table
      label={t.title}
      columns={hasLevel(session, 'I') ? columns : columns.slice(0, -1)}
      items={nodes}
      keyOf={({ categoryId, subcategoryId }) => subcategoryId ?? categoryId}
      classOf={({ status, subcategoryId }) => `${status === 'active' ? '' : 'off'} ${subcategoryId ? 'sub' : ''}`}
      hasRowNames
    />
  )
}

/** A category, and its subcategories. Their images are among its files. */
function nodesOf(category: Category): readonly CategoryNode[] {
  const { id: categoryId, fileIds, subcategories } = category
  const below = subcategories.map((each) => ({ ...each, categoryId, subcategoryId: each.id, subcategoryCount: 0 }))
  return [{ ...category, categoryId, subcategoryCount: below.length }, ...below].map((node) => ({
    ...node,
    image: fileIds.find(({ overlayId }) => overlayId === node.imageId),
  }))
}

/** Its image, name and description. */
const CategoryName = ({ name, image, status, description }: CategoryNode) => (
  <div class="flex">
    {image && <Thumb file={{ id: image.overlayId, ...image }} label={name} />}
    <div>
      <bdi>{name}</bdi> {status !== 'active' && <Badge icon="power">{texts.categories.status[status]}</Badge>}
      {description && (
        <div class="small muted">
          <LongText text={description} />
        </div>
      )}
    </div>
  </div>
)

/** How many records it has, with a link to them. */
const RecordCount = (node: CategoryNode) => (
  <a
    href={hrefOf(['evidences'], queryOf(node))}
    aria-label={texts.categories.recordsOf(node.name, node.digitalTwinsCount)}
  >
    {node.digitalTwinsCount.toLocaleString()}
  </a>
)

/** How many of a category are reported stolen, with a link to them. */
const stolenColumn = (stolen: readonly EvidenceListItem[]): Column<CategoryNode> => ({
  title: texts.evidences.stolen,
  kind: 'number',
  cell(node) {
    const { categoryId, subcategoryId } = node
    const { length } = stolen.filter((each) =>
      subcategoryId === undefined ? each.categoryId === categoryId : each.subcategoryId === subcategoryId,
    )
    const query = { status: 'stolen', ...queryOf(node) }
    return length === 0 ? (
      <span class="muted">0</span>
    ) : (
      <a
        class="is-stolen"
        href={hrefOf(['evidences'], query)}
        aria-label={texts.categories.stolenOf(node.name, length)}
      >
        {length.toLocaleString()}
      </a>
    )
  },
})

/** The filter of the list for a category. */
const queryOf = ({ categoryId, subcategoryId }: CategoryNode) => ({
  categoryId,
  ...(subcategoryId !== undefined && { subcategoryId }),
})

/** Who may ask whether a thing of it is reported stolen. */
function AnsweredTo({ node: { subcategoryId, publicStatus } }: { readonly node: CategoryNode }) {
  const t = texts.categories
  const { companyId } = useSession()
  if (publicStatus !== true) return <span class="muted">{subcategoryId === undefined ? t.ownKeys : t.asAbove}</span>
  return (
    <a class="quiet" href={hrefOf(['status', companyId])}>
      <Badge icon="eye">{t.isPublic}</Badge>
    </a>
  )
}

/** What the key may do to a category. */
function itemsOf(node: CategoryNode, session: Session, onDone: () => unknown): readonly MenuItem[] {
  const t = texts.categories
  const { categoryId, subcategoryId, status, digitalTwinsCount, subcategoryCount } = node
  const isActive = status === 'active'
  const notRemovable =
    digitalTwinsCount > 0 ? t.hasRecords(digitalTwinsCount) : subcategoryCount > 0 ? t.hasSubcategories : undefined
  const action = (type: 'activate' | 'deactivate' | 'remove') => (
    <ActionDialog type={type} node={node} onDone={onDone} />
  )
  const add: MenuItem = {
    icon: 'plus',
    text: t.createSub,
    dialog: <DetailsDialog categoryId={categoryId} onDone={onDone} />,
  }
  const changes: readonly MenuItem[] = [
    { icon: 'edit', text: texts.edit, dialog: <DetailsDialog node={node} onDone={onDone} /> },
    isActive
      ? { icon: 'power', text: t.deactivate, hint: t.deactivateHint, dialog: action('deactivate') }
      : { icon: 'power', text: t.activate, dialog: action('activate') },
    { icon: 'bin', text: t.remove, hint: notRemovable, dialog: notRemovable ? undefined : action('remove') },
  ]
  return [...(subcategoryId === undefined ? [add] : []), ...(hasLevel(session, 'U') ? changes : [])]
}
