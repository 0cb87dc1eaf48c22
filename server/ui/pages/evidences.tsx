import type { EvidenceFilter, EvidenceListItem } from '../../client/index.ts'
import { Failure, Notice } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, Time } from '../components/values.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { hrefOf } from '../router.ts'
import { hasLevel, useSession } from '../session.ts'
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
        {hasLevel(session, 'I') && (
          <a class="button primary" href={hrefOf(['new-evidence'])}>
            {t.create}
          </a>
        )}
      </div>
      <EvidenceFilters
        key={`filters ${key}`}
        filters={filters}
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
        <Notice tone="warn">{t.empty}</Notice>
      ) : (
        <>
          <p class="muted" role="status">
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
        </>
      )}
    </>
  )
}

const COLUMNS = [
  { title: texts.evidences.externalId },
  { title: texts.evidences.name },
  { title: texts.evidences.owner, isWide: true },
  { title: texts.evidences.lastUpdate, isWide: true },
  { title: texts.evidences.events },
]

const cellsOf = ({ externalId, name, owner, lastUpdateDate, historyChanges, stolen }: EvidenceListItem) => [
  <a href={hrefOf(['evidences', externalId])} title={externalId}>
    <bdi>{externalId}</bdi>
  </a>,
  <span title={name}>
    {stolen && (
      <>
        <Badge tone="bad">{texts.evidences.stolen}</Badge>{' '}
      </>
    )}
    <bdi>{name}</bdi>
  </span>,
  <bdi title={owner.name}>{owner.name}</bdi>,
  <Time at={lastUpdateDate} />,
  historyChanges.total,
]
