import type { ErasurePage } from '../../client/index.ts'
import { Card, PageList } from '../components/notice.tsx'
import { Table, type Column } from '../components/table.tsx'
import { usePages, type Page } from '../components/use-pages.ts'
import { Time } from '../components/values.tsx'
import { fieldName } from '../event-names.ts'
import { hrefOf } from '../router.ts'
import { useSession } from '../session.ts'
import { texts } from '../texts.ts'
import type { NameOf } from './audit-trail.tsx'

type Erasure = ErasurePage['erasures'][number]

/** What was erased in the company, newest first. */
export function Erasures({ nameOf }: { readonly nameOf: NameOf }) {
  const t = texts.erasure
  const { client } = useSession()
  const list = usePages<Erasure, Page<Erasure>>(
    {
      pageItems: 50,
      async readPage({ last, len }, signal) {
        const { erasures, isMore } = await client.listErasures({ len, ...(last && { last: last.id }) }, { signal })
        return { items: erasures, isMore }
      },
    },
    { of: [client] },
  )
  const columns: readonly Column<Erasure>[] = [
    { title: t.what, cell: ({ evidenceId, erased }) => <a href={hrefOf(['verify', evidenceId])}>{partsIn(erased)}</a> },
    { title: t.when, cell: ({ at }) => <Time at={at} isAge /> },
    { title: t.reason, cell: ({ reason, note }) => <bdi>{[t.reasons[reason], note].filter(Boolean).join(': ')}</bdi> },
    { title: texts.fields.actor, cell: ({ by }) => <bdi>{nameOf(by)}</bdi> },
    { title: t.disk, cell: ({ disk }) => t.disks[disk] },
  ]
  return (
    <Card title={t.list}>
      <PageList of={list} empty={<p class="muted">{t.none}</p>}>
        {(items) => <Table label={t.list} columns={columns} items={items} keyOf={({ id }) => id} isCard={false} />}
      </PageList>
    </Card>
  )
}

/** The names of the fields that were erased, each once. */
const partsIn = (erased: Erasure['erased']): string =>
  [...new Set(erased.map(({ field }) => fieldName(field)))].join(', ')
