import type { EvidenceFilter, EvidenceListItem } from '../../client/index.ts'
import { NewEvidenceLink } from '../components/navigation.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { Thumb } from '../components/thumb.tsx'
import { useEvery, useLoad } from '../components/use-load.ts'
import { SendStatus, StateBadge, Time } from '../components/values.tsx'
import { GridRow, VirtualList } from '../components/virtual-list.tsx'
import { hrefOf } from '../router.ts'
import { hasLevel, useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { EvidenceFilters, filterOf, filterTextsOf } from './evidence-filters.tsx'
import { useEvidences } from './use-evidences.ts'
import { stateOfLog, useNewest } from './use-newest.ts'

/** The pause before events that are not anchored are asked about again. */
const REFRESH_MS = 10_000

/** The evidences of a company, with search. The query of the address holds the filters. */
export function EvidencesPage({ query }: { readonly query: URLSearchParams }) {
  const t = texts.evidences
  const session = useSession()
  const { client } = session
  const filters = filterTextsOf(query)
  const { loaded } = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const categories = loaded.state === 'done' ? loaded.value.categories : []
  const paths = categories.flatMap(({ name, subcategories }) =>
    subcategories.map((subcategory) => [subcategory.id, `${name} / ${subcategory.name}`] as const),
  )
  const overview = useLoad((signal) => client.getOverview({}, { signal }), [client])
  useEvery(REFRESH_MS, overview.refresh)
  const glance = overview.loaded.state === 'done' ? overview.loaded.value : undefined
  return (
    <>
      <div class="head">
        <h1>{t.title}</h1>
        {hasLevel(session, 'I') && <a href={hrefOf(['import'])}>{texts.import.title}</a>}
        <NewEvidenceLink session={session} />
      </div>
      <EvidenceFilters
        filters={filters}
        hasFocus={query.has('search')}
        categories={categories}
        stolen={glance?.counts.stolen}
      />
      <FoundEvidences
        key={query.toString()}
        filter={filterOf(filters)}
        paths={new Map(paths)}
        logState={glance ? stateOfLog(glance) : ''}
      />
    </>
  )
}

interface RowContext {
  /** The names of each category and subcategory, by the id of the latter. */
  readonly paths: ReadonlyMap<string, string>
  /** See `stateOfLog`. */
  readonly logState: string
}

/** The rows of a search. A new search is a new component, so nothing of an earlier one stays. */
function FoundEvidences({ filter, ...context }: RowContext & { readonly filter: EvidenceFilter }) {
  const t = texts.evidences
  const { client } = useSession()
  const list = useEvidences(client, filter)
  const { items, page, failure } = list
  const isComplete = page?.isMore === false
  if (failure && page === undefined) return <Failure {...failure} />
  return (
    <>
      {failure && <Failure {...failure} />}
      {isComplete && items.length === 0 ? (
        <Empty icon="search">
          <p>{t.empty}</p>
        </Empty>
      ) : (
        <>
          <p class="small muted list-count" role="status">
            {page ? `${t.count(page.count, page.countIsMore === true)} · ${t.loaded(items.length)}` : texts.loading}
          </p>
          <VirtualList
            label={t.title}
            columns={COLUMNS}
            items={items}
            row={(item, rowIndex) => <EvidenceRow key={item.id} item={item} rowIndex={rowIndex} {...context} />}
            onNearEnd={list.readMore}
            rowCount={isComplete ? items.length + 1 : -1}
            scrollTopPx={list.scrollTopPx}
          />
          <p class="small muted keys wide-only">
            <kbd>/</kbd> {t.search} <kbd>c</kbd> {t.create} <kbd>j</kbd> <kbd>k</kbd> {t.move}
          </p>
        </>
      )}
    </>
  )
}

const COLUMNS = [
  { title: texts.evidences.evidence },
  { title: texts.evidences.category, isWide: true },
  { title: texts.fields.owner, isWide: true },
  { title: texts.fields.status },
  { title: texts.evidences.proof },
  { title: texts.evidences.lastUpdate },
]

interface EvidenceRowProps extends RowContext {
  readonly item: EvidenceListItem
  readonly rowIndex: number
}

/** An evidence with its newest event. On narrow screens the owner stands beside the id. */
function EvidenceRow({ item, rowIndex, paths, logState }: EvidenceRowProps) {
  const { externalId, name, iconId, subcategoryId } = item
  const newest = useNewest(item, logState)
  const path = paths.get(subcategoryId)
  const owner = newest.owner === '' ? <span class="muted">{texts.evidences.noOwner}</span> : <bdi>{newest.owner}</bdi>
  const cells = [
    <span class="flex wide-gap thing">
      <Thumb file={iconId} />
      <span class="text">
        <a
          class="stretched cut quiet"
          href={hrefOf(['evidences', externalId])}
          title={name}
          aria-label={`${name || texts.noName}, ${externalId}`}
        >
          <bdi>{name || texts.noName}</bdi>
        </a>
        <span class="id cut" title={externalId}>
          <bdi>{externalId}</bdi>
          <span class="narrow-only"> · {owner}</span>
        </span>
      </span>
    </span>,
    <bdi title={path}>{path}</bdi>,
    <span title={newest.owner}>{owner}</span>,
    <StateBadge isStolen={newest.isStolen} />,
    <SendStatus status={newest.sendStatus} />,
    <>
      <span class="cut wide-only">{newest.name}</span>
      <span class="small muted">
        <Time at={newest.at} isAge />
      </span>
    </>,
  ]
  return <GridRow columns={COLUMNS} cells={cells} rowIndex={rowIndex} />
}
