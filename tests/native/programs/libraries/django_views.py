import django
from django.conf import settings

settings.configure(
    DEBUG=False, ROOT_URLCONF=__name__, SECRET_KEY="k", ALLOWED_HOSTS=["*"], USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()

from django import forms
from django.db import connection, models
from django.http import HttpResponse, JsonResponse
from django.template import Context, Template
from django.test import Client, RequestFactory
from django.urls import path


class Book(models.Model):
    title = models.CharField(max_length=40)
    pages = models.IntegerField()

    class Meta:
        app_label = "shop"


class Contact(forms.Form):
    name = forms.CharField(max_length=5)
    mail = forms.EmailField()


def hello(request, name):
    return JsonResponse({"hello": name, "q": request.GET.get("q")})


urlpatterns = [path("hello/<str:name>/", hello)]


def main(args):
    with connection.schema_editor() as editor:
        editor.create_model(Book)
    for title, pages in (("A", 10), ("B", 250), ("C", 300)):
        Book.objects.create(title=title, pages=pages)
    form = Contact({"name": "too long", "mail": "no"})
    template = Template("{% for b in books %}{{ forloop.counter }}:{{ b|upper }}{% if not forloop.last %}, {% endif %}{% endfor %} {{ x }}")
    answer = HttpResponse("text", status=202)
    return [
        list(Book.objects.filter(pages__gt=100).values_list("title", flat=True)),
        Book.objects.aggregate(models.Sum("pages")),
        form.is_valid(), form.errors, template.render(Context({"books": ["x", "y"], "x": "<b>"})),
        answer.status_code, answer.content.decode(),
        Client().get("/hello/World/?q=1").json(), Client().get("/none/").status_code,
        RequestFactory().get("/a?b=c").GET.dict(),
    ]
