import type { EvidenceFilter, EvidenceListItem } from '../../client/index.ts'
import { NewEvidenceLink } from '../components/navigation.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { Thumb } from '../components/thumb.tsx'
import { useLoad } from '../components/use-load.ts'
import { StateBadge, Time, Track } from '../components/values.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { EvidenceFilters, filterOf, filterTextsOf } from './evidence-filters.tsx'
import { useEvidences } from './use-evidences.ts'

/** The evidences of a company, with search. The query of the address holds the filters. */
export function EvidencesPage({ query }: { readonly query: URLSearchParams }) {
  const t = texts.evidences
  const session = useSession()
  const { client } = session
  const filters = filterTextsOf(query)
  const { loaded } = useLoad((signal) => client.listCategories({}, { signal }), [client])
  const key = query.toString()
  return (
    <>
      <div class="head">
        <h1>{t.title}</h1>
        <NewEvidenceLink session={session} />
      </div>
      <EvidenceFilters
        key={`filters ${key}`}
        filters={filters}
        hasFocus={query.has('search')}
        categories={loaded.state === 'done' ? loaded.value.categories : []}
      />
      <FoundEvidences key={`list ${key}`} filter={filterOf(filters)} />
    </>
  )
}

/** The rows of a search. A new search is a new component, so nothing of an earlier one stays. */
function FoundEvidences({ filter }: { readonly filter: EvidenceFilter }) {
  const t = texts.evidences
  const { client } = useSession()
  const list = useEvidences(client, filter)
  const { items, page, failure } = list
  const isComplete = page?.isMore === false
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
            {page
              ? `${t.count(page.count, page.countIsMore === true)} · ${t.loaded(items.length)}`
              : !failure && texts.loading}
          </p>
          <VirtualList
            label={t.title}
            columns={COLUMNS}
            items={items}
            keyOf={({ id }) => id}
            row={cellsOf}
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
  { title: texts.fields.owner, isWide: true },
  { title: texts.fields.status },
  { title: texts.evidences.proof, isWide: true },
  { title: texts.evidences.lastUpdate },
]

const cellsOf = (item: EvidenceListItem) => {
  const { externalId, name, owner, lastUpdateDate, lastUpdateBlockNumber, stolen, iconId } = item
  const isAnchored = lastUpdateBlockNumber !== undefined
  return [
    <span class="flex wide-gap thing">
      <Thumb file={iconId} />
      <span class="text">
        <a
          class="stretched cut quiet"
          href={hrefOf(['evidences', externalId])}
          title={name}
          aria-label={`${name}, ${externalId}`}
        >
          <bdi>{name}</bdi>
        </a>
        <span class="id cut" title={externalId}>
          <bdi>{externalId}</bdi>
        </span>
      </span>
    </span>,
    owner.name === '' ? (
      <span class="muted">{texts.evidences.noOwner}</span>
    ) : (
      <bdi title={owner.name}>{owner.name}</bdi>
    ),
    <StateBadge isStolen={stolen} />,
    <Track reached={isAnchored ? 4 : 1}>{isAnchored ? texts.overview.anchored : texts.evidences.notAnchored}</Track>,
    <span class="small muted">
      <Time at={lastUpdateDate} isAge />
    </span>,
  ]
}
