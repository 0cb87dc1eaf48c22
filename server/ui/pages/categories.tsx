import type { CategoryList } from '../../client/index.ts'
import { DialogButton, openDialog } from '../components/dialog.tsx'
import { Notice, WhenLoaded } from '../components/notice.tsx'
import { useLoad } from '../components/use-load.ts'
import { Badge, LongText } from '../components/values.tsx'
import { hrefOf } from '../router.ts'
import { hasLevel, useSession } from '../session.ts'
import { texts } from '../texts.ts'
import { ActionDialog, DetailsDialog, type CategoryNode } from './category-dialogs.tsx'
import { FileImage } from './file-preview.tsx'

/** The tree of categories and subcategories. */
export function CategoriesPage() {
  const t = texts.categories
  const session = useSession()
  const { client } = session
  const list = useLoad((signal) => client.listCategories({}, { signal }), [client])
  return (
    <>
      <div class="head">
        <h1>{t.title}</h1>
        {hasLevel(session, 'I') && (
          <button class="primary" onClick={() => openDialog(<DetailsDialog onDone={list.reload} />)}>
            {t.create}
          </button>
        )}
      </div>
      <WhenLoaded of={list}>
        {({ categories }) =>
          categories.length === 0 ? (
            <Notice tone="pending">{t.empty}</Notice>
          ) : (
            <Tree categories={categories} onChange={list.reload} />
          )
        }
      </WhenLoaded>
    </>
  )
}

interface TreeProps {
  readonly categories: CategoryList['categories']
  readonly onChange: () => void
}

/** Categories with their subcategories below them. */
function Tree({ categories, onChange }: TreeProps) {
  return (
    <ul class="rows card">
      {categories.map((category) => (
        <li key={category.id}>
          <Node node={{ ...category, categoryId: category.id }} onChange={onChange} />
          <ul class="rows tree-children">
            {category.subcategories.map((subcategory) => (
              <li key={subcategory.id}>
                <Node
                  node={{ ...subcategory, categoryId: category.id, subcategoryId: subcategory.id }}
                  onChange={onChange}
                />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  )
}

/** A category or subcategory with what the key may do to it. */
function Node({ node, onChange }: { readonly node: CategoryNode; readonly onChange: () => void }) {
  const t = texts.categories
  const session = useSession()
  const { name, status, digitalTwinsCount, categoryId, subcategoryId, imageId, description, publicStatus } = node
  const action = (type: 'activate' | 'deactivate' | 'remove') => (
    <DialogButton text={t[type]} name={name} dialog={<ActionDialog type={type} node={node} onDone={onChange} />} />
  )
  return (
    <>
      <div class="row">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        {status !== 'active' && <Badge tone="pending">{t.status[status]}</Badge>}
        {publicStatus && <a href={hrefOf(['status', session.companyId])}>{t.isPublic}</a>}
        <a
          href={hrefOf(['evidences'], { categoryId, ...(subcategoryId !== undefined && { subcategoryId }) })}
          aria-label={`${t.evidences(digitalTwinsCount)}: ${name}`}
        >
          {t.evidences(digitalTwinsCount)}
        </a>
        <span class="row end">
          {subcategoryId === undefined && hasLevel(session, 'I') && (
            <DialogButton
              text={t.createSub}
              name={name}
              dialog={<DetailsDialog categoryId={categoryId} onDone={onChange} />}
            />
          )}
          {hasLevel(session, 'U') && (
            <>
              <DialogButton text={texts.edit} name={name} dialog={<DetailsDialog node={node} onDone={onChange} />} />
              {action(status === 'active' ? 'deactivate' : 'activate')}
              {action('remove')}
            </>
          )}
        </span>
      </div>
      {description && <LongText text={description} />}
      {imageId && <FileImage fileId={imageId} label={name} />}
    </>
  )
}
